/* What is prepared in MPI_Init, which all ranks call: a call of the program later makes no
 * communicator, and freeing one exchanges nothing. Both would be collective operations that
 * the program has not called, and ranks and threads may come to them in different orders. */
#ifndef EVBENCH_WORLD_H
#define EVBENCH_WORLD_H

#include "next.h"

#include <mpi.h>

#pragma GCC visibility push(hidden)

struct world {
	int on; /* there is a plan, or a file for times; what follows is set */
	MPI_Comm comm; /* of the ranks of MPI_COMM_WORLD, ours alone; it returns errors */
	MPI_Group group;
	int rank, size;
	int *node; /* by rank: the first rank that it shares memory with */
	int tags;  /* pairs of tags for the communicators that have the same rank 0 */
	int key;   /* under which a communicator has its state */

	/* The environment of rank 0 counts for all. */
	int plan, times, always;
	long long least;
};

extern struct world world;

/* world_ready is called when MPI is initialised; freed when a communicator with a state goes,
 * and last, with world as its value, in MPI_Finalize. */
void world_ready(MPI_Comm_delete_attr_function *freed);

/* world_left is called in MPI_Finalize. */
void world_left(void);

#pragma GCC visibility pop
#endif
