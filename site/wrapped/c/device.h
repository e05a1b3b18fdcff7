/* Which adapter a rank uses on a host that has several. */
#ifndef EVBENCH_DEVICE_H
#define EVBENCH_DEVICE_H

#pragma GCC visibility push(hidden)

/* device_choose is called before MPI is initialised. Where EVBENCH_DEVICES names adapters of this
 * host it sets UCX_NET_DEVICES to that of this rank, by its number on the host, unless the user has
 * set it; in the same way EVBENCH_PATH_BITS sets UCX_IB_LID_PATH_BITS. */
void device_choose(void);

/* device_rank returns the number on its host for which a rank was given an adapter, or -1. */
int device_rank(void);

#pragma GCC visibility pop
#endif
