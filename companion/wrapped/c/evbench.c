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
 *   EVBENCH_TIMES   file that rank 0 adds lines to: "loaded RANKS" in MPI_Init; in MPI_Finalize one a
 *                   call (record.h), and "nonblocking N", the calls of MPI_Ialltoall
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

static long long bytes_of(int count, MPI_Datatype type)
{
	int size = 0;
	PMPI_Type_size(type, &size);
	return (long long)count * size;
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

static long long to_others(const struct state *s, const int *counts, int count, MPI_Datatype type, long long *most)
{
	long long sum = 0;
	*most = 0;
	for (int i = 0; i < s->row.size; i++) {
		long long n = bytes_of(counts ? counts[i] : count, type);
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

static int counted(const int *counts, int n)
{
	for (int i = 0; counts && i < n; i++)
		if (counts[i] < 0)
			return 0;
	return counts != NULL;
}

/* typed reports whether MPI sends one type and receives another. */
static int typed(MPI_Datatype send, MPI_Datatype recv)
{
	char none = 0;
	return send != MPI_DATATYPE_NULL && recv != MPI_DATATYPE_NULL &&
		PMPI_Sendrecv(&none, 0, send, MPI_PROC_NULL, 0, &none, 0, recv, MPI_PROC_NULL, 0, world.comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* done keeps what a call took, and has an error of ours handled as one of the communicator. */
static int done(struct state *s, enum call_kind kind, int planned, double start, long long bytes, MPI_Comm comm, int err)
{
	double took = PMPI_Wtime() - start;
	if (s->kept)
		record_add(&s->record, kind, planned, took, bytes);
	else if (world.times)
		s->record.more++;
	if (err && planned)
		PMPI_Comm_call_errhandler(comm, err);
	return err;
}

/* Calls that MPI refuses are left to it before anything is agreed on: other ranks may have
 * been refused theirs. */
int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	int in_place = sendbuf == MPI_IN_PLACE, n = sized(comm);
	struct state *s = NULL;
	if (n > 0 && recvbuf != MPI_IN_PLACE && counted(&recvcount, 1) && (in_place || counted(&sendcount, 1)) &&
		typed(in_place ? recvtype : sendtype, recvtype) && (in_place || bytes_of(sendcount, sendtype) == bytes_of(recvcount, recvtype)))
		s = state_of(comm, n);
	if (!s)
		return PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
	/* where sendbuf is MPI_IN_PLACE, sendtype says nothing */
	long long most, sum = to_others(s, NULL, recvcount, recvtype, &most);
	int planned = fits(s, sendbuf, most, MPI_COMM_NULL), err;
	double start = PMPI_Wtime();
	if (planned) {
		struct side send = {(char *)sendbuf, NULL, NULL, sendcount, sendtype}, recv = {recvbuf, NULL, NULL, recvcount, recvtype};
		err = exchange(&s->row, &send, &recv);
	} else
		err = PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
	return done(s, CALL_ALLTOALL, planned, start, sum, comm, err);
}

int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
	const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
	int in_place = sendbuf == MPI_IN_PLACE, n = sized(comm), err;
	struct state *s = NULL;
	if (n > 0 && recvbuf != MPI_IN_PLACE && rdispls && counted(recvcounts, n) && (in_place || (sdispls && counted(sendcounts, n))) &&
		typed(in_place ? recvtype : sendtype, recvtype))
		s = state_of(comm, n);
	if (!s)
		return PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
	double start = PMPI_Wtime();
	long long most, sum = to_others(s, in_place ? recvcounts : sendcounts, 0, in_place ? recvtype : sendtype, &most);
	int planned = fits(s, sendbuf, most, comm);
	if (planned) {
		struct side send = {(char *)sendbuf, sendcounts, sdispls, 0, sendtype}, recv = {recvbuf, recvcounts, rdispls, 0, recvtype};
		err = exchange(&s->row, &send, &recv);
	} else
		err = PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
	return done(s, CALL_ALLTOALLV, planned, start, sum, comm, err);
}

/* It may not wait for other ranks, so nothing can be agreed on, and nothing done in phases. */
int MPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Request *request)
{
	if (world.on && comm != MPI_COMM_SELF)
		states_nonblocking();
	return PMPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
}
