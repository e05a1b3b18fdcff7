/* The same for Fortran, whose bindings of Open MPI call PMPI and so would pass by, while those of
 * MPICH, which call PMPI to initialise alone, know their MPI_IN_PLACE: mpif.h and
 * "use mpi" (mpi_alltoall_), "use mpi_f08" (mpi_alltoall_f08_). Names are those of gfortran,
 * flang and Intel's compilers. */
#include "device.h"
#include "state.h"
#include "world.h"

#include <stddef.h>

static void set(MPI_Fint *ierr, int err)
{
	if (ierr) /* optional in mpi_f08 */
		*ierr = err;
}

/* Theirs is called, which may do more than that of C. */
static void init(const char *name, MPI_Fint *ierr)
{
	MPI_Fint err = 0;
	void (*next)(MPI_Fint *) = (void (*)(MPI_Fint *))next_of(name);
	device_choose();
	if (next)
		next(&err);
	else
		err = PMPI_Init(NULL, NULL);
	if (!err)
		ready();
	set(ierr, err);
}

static void init_thread(const char *name, MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)
{
	MPI_Fint err = 0;
	void (*next)(MPI_Fint *, MPI_Fint *, MPI_Fint *) = (void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *))next_of(name);
	device_choose();
	if (next)
		next(required, provided, &err);
	else
		err = PMPI_Init_thread(NULL, NULL, *required, provided);
	if (!err)
		ready();
	set(ierr, err);
}

void mpi_init_(MPI_Fint *ierr) { init("mpi_init_", ierr); }
void mpi_init_f08_(MPI_Fint *ierr) { init("mpi_init_f08_", ierr); }
void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr) { init_thread("mpi_init_thread_", required, provided, ierr); }
void mpi_init_thread_f08_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr) { init_thread("mpi_init_thread_f08_", required, provided, ierr); }

#ifdef OPEN_MPI
/* Where Fortran's MPI_IN_PLACE is; not there in programs without Fortran. */
extern int mpi_fortran_in_place_ __attribute__((weak));

static const void *buffer(const void *b) { return &mpi_fortran_in_place_ && b == &mpi_fortran_in_place_ ? MPI_IN_PLACE : b; }

void mpi_alltoall_(const void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *comm,
	MPI_Fint *ierr)
{
	set(ierr, MPI_Alltoall(buffer(sendbuf), *sendcount, PMPI_Type_f2c(*sendtype), recvbuf, *recvcount, PMPI_Type_f2c(*recvtype), PMPI_Comm_f2c(*comm)));
}

void mpi_alltoallv_(const void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcounts,
	MPI_Fint *rdispls, MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierr)
{
	set(ierr, MPI_Alltoallv(buffer(sendbuf), sendcounts, sdispls, PMPI_Type_f2c(*sendtype), recvbuf, recvcounts, rdispls, PMPI_Type_f2c(*recvtype),
		PMPI_Comm_f2c(*comm)));
}

void mpi_ialltoall_(const void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *comm,
	MPI_Fint *request, MPI_Fint *ierr)
{
	MPI_Request r = MPI_REQUEST_NULL;
	int err = MPI_Ialltoall(buffer(sendbuf), *sendcount, PMPI_Type_f2c(*sendtype), recvbuf, *recvcount, PMPI_Type_f2c(*recvtype), PMPI_Comm_f2c(*comm), &r);
	*request = PMPI_Request_c2f(r);
	set(ierr, err);
}

#define SAME(f08, name) extern __typeof__(name) f08 __attribute__((alias(#name)))
SAME(mpi_alltoall_f08_, mpi_alltoall_);
SAME(mpi_alltoallv_f08_, mpi_alltoallv_);
SAME(mpi_ialltoall_f08_, mpi_ialltoall_);

/* Calls that are not followed are named, and made by theirs. */
#define NAMED(name, call, parameters, arguments) \
	void name##_ parameters \
	{ \
		void (*next) parameters = (void (*) parameters)next_of(#name "_"); \
		states_other(call, PMPI_Comm_f2c(*comm)); \
		if (next) \
			next arguments; \
		else \
			set(ierr, MPI_ERR_UNSUPPORTED_OPERATION); \
	} \
	SAME(name##_f08_, name##_)

NAMED(mpi_alltoallw, "MPI_Alltoallw",
	(const void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtypes, void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *rdispls,
		MPI_Fint *recvtypes, MPI_Fint *comm, MPI_Fint *ierr),
	(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, ierr));
NAMED(mpi_ialltoallv, "MPI_Ialltoallv",
	(const void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *rdispls,
		MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
	(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request, ierr));
NAMED(mpi_ialltoallw, "MPI_Ialltoallw",
	(const void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtypes, void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *rdispls,
		MPI_Fint *recvtypes, MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr),
	(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, request, ierr));

#if OMPI_MAJOR_VERSION >= 5
NAMED(mpi_alltoall_init, "MPI_Alltoall_init",
	(const void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *comm,
		MPI_Fint *info, MPI_Fint *request, MPI_Fint *ierr),
	(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request, ierr));
NAMED(mpi_alltoallv_init, "MPI_Alltoallv_init",
	(const void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *rdispls,
		MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *info, MPI_Fint *request, MPI_Fint *ierr),
	(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info, request, ierr));
NAMED(mpi_alltoallw_init, "MPI_Alltoallw_init",
	(const void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtypes, void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *rdispls,
		MPI_Fint *recvtypes, MPI_Fint *comm, MPI_Fint *info, MPI_Fint *request, MPI_Fint *ierr),
	(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info, request, ierr));
#endif
#endif
