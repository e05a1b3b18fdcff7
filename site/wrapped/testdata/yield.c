/* MPICH polls without end, and of more ranks than processors those that wait keep the others from working. Linked into a program, in
 * place of UCX's own, this leaves the processor to them where nothing has come, as Open MPI does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void *worker)
{
	static unsigned (*own)(void *);
	unsigned n;
	if (!own)
		own = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
	n = own(worker);
	if (n == 0)
		sched_yield();
	return n;
}
