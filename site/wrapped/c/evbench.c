/* libevbench runs MPI_Alltoall and MPI_Alltoallv of a program in the order of a plan. It stands
 * between the program and its MPI (LD_PRELOAD or linked before it), and calls that by its PMPI
 * names. Environment, of which that of rank 0 of MPI_COMM_WORLD counts:
 *
 *   EVBENCH_PLAN    plan file, text form, of evbench plan or evbench mpi wrap. Rank 0 of a
 *                   communicator reads it. A line "# x-host SERVER NAME RANKS" for each server
 *                   says which host it is; without them ranks are servers in their order. Several
 *                   lines of one host are its adapters, which its ranks take in their order. Where
 *                   NAME begins with #, the ranks of all hosts take the lines in their order.
 *   EVBENCH_MIN     bytes to a rank below which a call is left to the MPI (default 16384)
 *   EVBENCH_ALWAYS  if set, the plan is followed where all ranks share memory, too
 *   EVBENCH_DEVICES HOST/ADAPTER/ADAPTER,HOST/…: device.h; each rank has its own
 *   EVBENCH_PATH_BITS HOST/N/N,HOST/…: device.h
 *   EVBENCH_PORTS   plan file with source ports, on every host: ports.c; each rank has its own
 *   EVBENCH_TIMES   file that rank 0 adds lines to: "loaded RANKS" in MPI_Init; in MPI_Finalize one a
 *                   call (record.h), "nonblocking N", the calls of MPI_Ialltoall, and "refused WHY"
 *
 * What the plan is not for is left to the MPI, and rank 0 says why, in MPI_Finalize. What has to
 * be agreed on is agreed on by all ranks of a communicator, within calls that all of them make:
 * the first, and each of MPI_Alltoallv, whose ranks know their own sizes only. Such calls may wait
 * for other ranks. MPI_Ialltoall may not, and is left to the MPI. */
#include "state.h"
#include "world.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* members fills in what ranks of a communicator are in the world; -1: one is of another world. */
static int members(struct row *r, MPI_Comm comm)
{
	MPI_Group group;
	int err = 0, *ranks = malloc((r->size + 1) * sizeof *ranks);
	r->world = malloc((r->size + 1) * sizeof *r->world);
	if (!ranks || !r->world)
		PMPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < r->size; i++)
		ranks[i] = i;
	PMPI_Comm_group(comm, &group);
	PMPI_Group_translate_ranks(group, r->size, ranks, world.group, r->world);
	PMPI_Group_free(&group);
	free(ranks);
	for (int i = 0; i < r->size; i++)
		err |= r->world[i] == MPI_UNDEFINED;
	return -err;
}

/* meet has all ranks of a communicator know it by one name and two tags. */
static void meet(struct state *s, MPI_Comm comm)
{
	int here = members(&s->row, comm) == 0, room, number = states_claim(s->row.rank == 0, &room);
	int all[] = {here && (s->row.rank || number >= 0), here && room, s->row.rank ? INT_MAX : number};
	PMPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_INT, MPI_MIN, comm);
	s->first = s->row.world[0];
	s->number = all[2];
	s->kept = all[0] && all[1];
	s->row.tag = all[0] ? 2 * (s->first * world.tags + s->number) : -1;
	if (!all[0])
		snprintf(s->why, PLAN_WHY, here ? "too many communicators" : "ranks of another MPI_COMM_WORLD");
}

/* state_of returns what is known of a communicator of n ranks, at its first call after finding
 * out. */
static struct state *state_of(MPI_Comm comm, int n)
{
	struct state *s = NULL;
	int found = 0;
	if (PMPI_Comm_get_attr(comm, world.key, &s, &found) || found)
		return s;
	if (!(s = calloc(1, sizeof *s)))
		PMPI_Abort(MPI_COMM_WORLD, 1);
	PMPI_Comm_rank(comm, &s->row.rank);
	s->row.size = n;
	meet(s, comm);
	if (world.plan && s->row.tag >= 0)
		follow(s, comm);
	states_add(s);
	PMPI_Comm_set_attr(comm, world.key, s);
	return s;
}

/* left_out counts a call that does not follow the plan. */
static int left_out(struct state *s, enum cause why)
{
	s->left[why]++;
	return 0;
}

static long long bytes_of(MPI_Count count, MPI_Datatype type)
{
	MPI_Count size = 0;
	PMPI_Type_size_x(type, &size);
	return (long long)(count * size);
}

/* fits reports whether a call follows the plan. most are the bytes for the rank that gets most;
 * where ranks may differ in it, they agree, on comm; MPI_COMM_NULL: they do not differ. */
static int fits(struct state *s, const void *sendbuf, long long most, MPI_Comm comm)
{
	if (!s->planned)
		return left_out(s, UNPLANNED);
	if (sendbuf == MPI_IN_PLACE)
		return left_out(s, IN_PLACE);
	if (comm != MPI_COMM_NULL)
		PMPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_LONG_LONG, MPI_MAX, comm);
	return most < world.least ? left_out(s, SMALL) : 1;
}

static long long to_others(const struct state *s, const struct side *side, long long *most)
{
	long long sum = 0;
	*most = 0;
	for (int i = 0; i < s->row.size; i++) {
		long long n = bytes_of(side_count(side, i), side->type);
		if (i == s->row.rank)
			continue;
		sum += n;
		if (n > *most)
			*most = n;
	}
	return sum;
}

/* sized returns how many ranks exchange on a communicator; 0: none. */
static int sized(MPI_Comm comm)
{
	int n = 0, inter = 1;
	if (!world.on || comm == MPI_COMM_NULL || comm == MPI_COMM_SELF)
		return 0;
	PMPI_Comm_test_inter(comm, &inter);
	if (!inter)
		PMPI_Comm_size(comm, &n);
	return n;
}

/* counted reports whether counts are such as MPI takes, for n ranks. */
static int counted(enum call_kind kind, const struct side *side, int n)
{
	if (kind == CALL_ALLTOALL)
		return side->count >= 0;
	if (!(side->displs || side->displs_c) || !(side->counts || side->counts_c))
		return 0;
	for (int i = 0; i < n; i++)
		if (side_count(side, i) < 0)
			return 0;
	return 1;
}

/* typed reports whether MPI sends one type and receives another. */
static int typed(MPI_Datatype send, MPI_Datatype recv)
{
	char none = 0;
	return send != MPI_DATATYPE_NULL && recv != MPI_DATATYPE_NULL &&
		PMPI_Sendrecv(&none, 0, send, MPI_PROC_NULL, 0, &none, 0, recv, MPI_PROC_NULL, 0, world.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* A call from its begin to its end. */
struct going {
	enum call_kind kind;
	struct state *s; /* NULL: the call is MPI's alone */
	MPI_Comm comm;
	int planned, err;
	double start;
	long long bytes;
};

/* begin makes the exchange and returns 1, or returns 0: then the caller has it made by the MPI. Calls
 * that MPI refuses are left to it before anything is agreed on: other ranks may have been refused
 * theirs. Where the sender's buffer is MPI_IN_PLACE, its type and counts say nothing. */
static int begin(struct going *g, enum call_kind kind, const struct side *send, const struct side *recv, MPI_Comm comm)
{
	int in_place = send->buf == MPI_IN_PLACE, n = sized(comm);
	const struct side *sent = in_place ? recv : send;
	long long most;
	*g = (struct going){.kind = kind, .comm = comm};
	if (n == 0 || recv->buf == MPI_IN_PLACE || !counted(kind, recv, n) || !counted(kind, sent, n) || !typed(sent->type, recv->type))
		return 0;
	if (kind == CALL_ALLTOALL && bytes_of(sent->count, sent->type) != bytes_of(recv->count, recv->type))
		return 0;
	g->s = state_of(comm, n);
	g->start = PMPI_Wtime();
	g->bytes = to_others(g->s, sent, &most);
	g->planned = fits(g->s, send->buf, most, kind == CALL_ALLTOALL ? MPI_COMM_NULL : comm);
	if (g->planned)
		g->err = exchange(&g->s->row, send, recv);
	return g->planned;
}

/* end keeps what a call took, and has an error of ours handled as one of the communicator. */
static int end(struct going *g)
{
	if (!g->s)
		return g->err;
	double took = PMPI_Wtime() - g->start;
	if (g->s->kept)
		record_add(&g->s->record, g->kind, g->planned, took, g->bytes);
	else if (world.times)
		g->s->record.more++;
	if (g->err && g->planned)
		PMPI_Comm_call_errhandler(g->comm, g->err);
	return g->err;
}

int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	struct side send = {.buf = (char *)sendbuf, .count = sendcount, .type = sendtype}, recv = {.buf = recvbuf, .count = recvcount, .type = recvtype};
	struct going g;
	if (!begin(&g, CALL_ALLTOALL, &send, &recv, comm))
		g.err = PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
	return end(&g);
}

int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
	const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
	struct side send = {.buf = (char *)sendbuf, .counts = sendcounts, .displs = sdispls, .type = sendtype};
	struct side recv = {.buf = recvbuf, .counts = recvcounts, .displs = rdispls, .type = recvtype};
	struct going g;
	if (!begin(&g, CALL_ALLTOALLV, &send, &recv, comm))
		g.err = PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
	return end(&g);
}

#if MPI_VERSION >= 4 /* calls with large counts, also those of mpi4py 4 and of Fortran's mpi_f08 */
int MPI_Alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	struct side send = {.buf = (char *)sendbuf, .count = sendcount, .type = sendtype}, recv = {.buf = recvbuf, .count = recvcount, .type = recvtype};
	struct going g;
	if (!begin(&g, CALL_ALLTOALL, &send, &recv, comm))
		g.err = PMPI_Alltoall_c(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
	return end(&g);
}

int MPI_Alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
	const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
	struct side send = {.buf = (char *)sendbuf, .counts_c = sendcounts, .displs_c = sdispls, .type = sendtype};
	struct side recv = {.buf = recvbuf, .counts_c = recvcounts, .displs_c = rdispls, .type = recvtype};
	struct going g;
	if (!begin(&g, CALL_ALLTOALLV, &send, &recv, comm))
		g.err = PMPI_Alltoallv_c(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
	return end(&g);
}
#endif

/* It may not wait for other ranks, so nothing can be agreed on, and nothing done in phases. */
int MPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Request *request)
{
	if (world.on && comm != MPI_COMM_SELF)
		states_nonblocking();
	return PMPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
}

/* Calls that are not followed are named. */
#define NAMED(name, parameters, arguments) \
	int MPI_##name parameters \
	{ \
		states_other("MPI_" #name, comm); \
		return PMPI_##name arguments; \
	}

NAMED(Alltoallw,
	(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
		const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
	(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
NAMED(Ialltoallv,
	(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
		const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request),
	(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request))
NAMED(Ialltoallw,
	(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
		const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request),
	(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, request))

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5 /* Open MPI 5 says that it is MPI 3, and has these */
NAMED(Alltoall_init,
	(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
		MPI_Request *request),
	(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request))
NAMED(Alltoallv_init,
	(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
		const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request),
	(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info, request))
NAMED(Alltoallw_init,
	(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
		const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info, MPI_Request *request),
	(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info, request))
#endif

#if MPI_VERSION >= 4
NAMED(Alltoallw_c,
	(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
		const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),
	(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm))
NAMED(Ialltoall_c,
	(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
		MPI_Request *request),
	(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request))
NAMED(Ialltoallv_c,
	(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
		const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request),
	(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, request))
NAMED(Ialltoallw_c,
	(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
		const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Request *request),
	(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, request))
NAMED(Alltoall_init_c,
	(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
		MPI_Info info, MPI_Request *request),
	(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request))
NAMED(Alltoallv_init_c,
	(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
		const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request),
	(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, info, request))
NAMED(Alltoallw_init_c,
	(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
		const MPI_Count recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info, MPI_Request *request),
	(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm, info, request))
#endif
