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
#define NAMED_AS(symbol, call, parameters, arguments) \
	void symbol parameters \
	{ \
		void (*next) parameters = (void (*) parameters)next_of(#symbol); \
		states_other(call, PMPI_Comm_f2c(*comm)); \
		if (next) \
			next arguments; \
		else \
			set(ierr, MPI_ERR_UNSUPPORTED_OPERATION); \
	}
#if OMPI_MAJOR_VERSION >= 6
#define NAMED(name, call, parameters, arguments) \
	NAMED_AS(name##_, call, parameters, arguments) \
	NAMED_AS(name##_f08ts_, call, parameters, arguments) \
	SAME(name##_f08_, name##_)
#else
#define NAMED(name, call, parameters, arguments) \
	NAMED_AS(name##_, call, parameters, arguments) \
	SAME(name##_f08_, name##_)
#endif

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

#if OMPI_MAJOR_VERSION >= 6
/* mpi_f08 of Open MPI 6 gives descriptors of arrays to procedures of its own, mpi_alltoall_f08ts_, which call PMPI. */
#if __has_include(<ISO_Fortran_binding.h>)
#include <ISO_Fortran_binding.h>

/* Whether the elements of an array stand in a row: the last extent of one without a size is -1. */
static int dense(const CFI_cdesc_t *d)
{
	CFI_index_t bytes = (CFI_index_t)d->elem_len;
	for (int i = 0; i < d->rank; i++) {
		if (d->dim[i].extent != 1 && d->dim[i].sm != bytes)
			return 0;
		bytes *= d->dim[i].extent;
	}
	return 1;
}
#else
typedef struct {
	void *base_addr;
} CFI_cdesc_t;

static int dense(const CFI_cdesc_t *d)
{
	(void)d; /* without a Fortran compiler nobody knows how one looks */
	return 0;
}
#endif

/* A call that follows the plan where both arrays are dense, and is theirs elsewhere. */
#define DESCRIBED(name, call, parameters, arguments, follow) \
	void name##_f08ts_ parameters \
	{ \
		void (*next) parameters = (void (*) parameters)next_of(#name "_f08ts_"); \
		if (dense(send) && dense(recv)) { \
			follow; \
			return; \
		} \
		states_other(call " of arrays in parts", PMPI_Comm_f2c(*comm)); \
		if (next) \
			next arguments; \
		else \
			set(ierr, MPI_ERR_UNSUPPORTED_OPERATION); \
	}

DESCRIBED(mpi_alltoall, "MPI_Alltoall",
	(CFI_cdesc_t *send, MPI_Fint *sendcount, MPI_Fint *sendtype, CFI_cdesc_t *recv, MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *comm,
		MPI_Fint *ierr),
	(send, sendcount, sendtype, recv, recvcount, recvtype, comm, ierr),
	mpi_alltoall_(send->base_addr, sendcount, sendtype, recv->base_addr, recvcount, recvtype, comm, ierr))
DESCRIBED(mpi_alltoallv, "MPI_Alltoallv",
	(CFI_cdesc_t *send, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtype, CFI_cdesc_t *recv, MPI_Fint *recvcounts, MPI_Fint *rdispls,
		MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierr),
	(send, sendcounts, sdispls, sendtype, recv, recvcounts, rdispls, recvtype, comm, ierr),
	mpi_alltoallv_(send->base_addr, sendcounts, sdispls, sendtype, recv->base_addr, recvcounts, rdispls, recvtype, comm, ierr))
DESCRIBED(mpi_ialltoall, "MPI_Ialltoall",
	(CFI_cdesc_t *send, MPI_Fint *sendcount, MPI_Fint *sendtype, CFI_cdesc_t *recv, MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *comm,
		MPI_Fint *request, MPI_Fint *ierr),
	(send, sendcount, sendtype, recv, recvcount, recvtype, comm, request, ierr),
	mpi_ialltoall_(send->base_addr, sendcount, sendtype, recv->base_addr, recvcount, recvtype, comm, request, ierr))
DESCRIBED(mpi_alltoall_c, "MPI_Alltoall_c",
	(CFI_cdesc_t *send, MPI_Count *sendcount, MPI_Fint *sendtype, CFI_cdesc_t *recv, MPI_Count *recvcount, MPI_Fint *recvtype, MPI_Fint *comm,
		MPI_Fint *ierr),
	(send, sendcount, sendtype, recv, recvcount, recvtype, comm, ierr),
	set(ierr, MPI_Alltoall_c(buffer(send->base_addr), *sendcount, PMPI_Type_f2c(*sendtype), recv->base_addr, *recvcount, PMPI_Type_f2c(*recvtype),
		PMPI_Comm_f2c(*comm))))
DESCRIBED(mpi_alltoallv_c, "MPI_Alltoallv_c",
	(CFI_cdesc_t *send, MPI_Count *sendcounts, MPI_Aint *sdispls, MPI_Fint *sendtype, CFI_cdesc_t *recv, MPI_Count *recvcounts, MPI_Aint *rdispls,
		MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierr),
	(send, sendcounts, sdispls, sendtype, recv, recvcounts, rdispls, recvtype, comm, ierr),
	set(ierr, MPI_Alltoallv_c(buffer(send->base_addr), sendcounts, sdispls, PMPI_Type_f2c(*sendtype), recv->base_addr, recvcounts, rdispls,
		PMPI_Type_f2c(*recvtype), PMPI_Comm_f2c(*comm))))
#endif
#endif
