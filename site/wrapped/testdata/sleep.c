/* Of more ranks than processors, those that wait keep the others from working: Open MPI's yield without end, MPICH's do not even that.
 * Linked into a program, these stand before the functions of that name, and have ranks sleep where nothing has come. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <time.h>

int sched_yield(void)
{
	const struct timespec shortly = {0, 20000};
	return nanosleep(&shortly, NULL);
}

#ifdef MPICH_VERSION
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
#endif
