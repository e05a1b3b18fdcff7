/* libevbench runs MPI_Alltoall, MPI_Alltoallv and MPI_Ialltoall of a program in the order of a
 * plan. It stands between the program and its MPI (LD_PRELOAD or linked before it), and
 * calls that by its PMPI names. Environment:
 *
 *   EVBENCH_PLAN    plan file, text form, of evbench plan or evbench mpi wrap. Rank 0 of a
 *                   communicator reads it. A line "# x-host SERVER NAME RANKS" for each server
 *                   says which host it is; without them ranks are servers in their order.
 *   EVBENCH_MIN     bytes to a rank below which a call is left to the MPI (default 16384)
 *   EVBENCH_ALWAYS  if set, the plan is followed where all ranks share memory, too
 *   EVBENCH_TIMES   file that each communicator's rank 0 adds a line a call to (record.h)
 *
 * What the plan is not for is left to the MPI, and rank 0 says why, once. What has to be
 * agreed on is agreed on by all ranks of a communicator: at its first call, and for
 * MPI_Alltoallv, whose ranks know their own sizes only, at each. */
#include "exchange.h"
#include "plan.h"
#include "record.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A state is what is known of a communicator. */
struct state {
	struct row row; /* row.comm is always there */
	int planned;
	char why[PLAN_WHY]; /* what the plan is not for */
	int said;
	struct record record;
	struct state *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows; never held while ranks talk */
static int key = MPI_KEYVAL_INVALID;
static struct state *states; /* in the order of their first calls, which is one for all ranks */

static const char *file_of(const char *name)
{
	const char *s = getenv(name);
	return s && *s ? s : NULL;
}

static void release(struct state *s)
{
	if (file_of("EVBENCH_TIMES"))
		record_write(&s->record, s->row.comm, file_of("EVBENCH_TIMES"));
	PMPI_Comm_free(&s->row.comm);
	free(s->row.to);
	free(s->row.from);
	free(s->row.near_to);
	free(s->row.near_from);
	free(s->row.requests);
	free(s);
}

static void forget(struct state *s)
{
	pthread_mutex_lock(&lock);
	struct state **at = &states;
	while (*at && *at != s)
		at = &(*at)->next;
	int known = *at != NULL;
	if (known)
		*at = s->next;
	pthread_mutex_unlock(&lock);
	if (known)
		release(s);
}

/* freed is called when a communicator goes, by all its ranks; or MPI_COMM_SELF, in MPI_Finalize. */
static int freed(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)comm, (void)keyval, (void)extra;
	if (value) {
		forget(value);
		return MPI_SUCCESS;
	}
	while (states)
		forget(states);
	return MPI_SUCCESS;
}

/* agreed reports whether something holds for all ranks. */
static int agreed(MPI_Comm comm, int holds)
{
	PMPI_Allreduce(MPI_IN_PLACE, &holds, 1, MPI_INT, MPI_MIN, comm);
	return holds;
}

/* text_of reads a file; NULL: why says why not. */
static char *text_of(const char *name, long long *len, char *why)
{
	FILE *f = fopen(name, "rb");
	char *text = NULL;
	if (f && !fseek(f, 0, SEEK_END) && (*len = ftell(f)) >= 0 && *len < 1 << 30 && !fseek(f, 0, SEEK_SET) && (text = malloc(*len + 1)) &&
		fread(text, 1, *len, f) != (size_t)*len) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	if (!text)
		snprintf(why, PLAN_WHY, "%.150s cannot be read", name);
	return text;
}

/* shared returns the text of the plan that rank 0 reads, for all ranks; NULL where there is none. */
static char *shared(struct state *s, long long *len)
{
	char *text = NULL;
	*len = -1;
	if (s->row.rank == 0 && !(text = text_of(file_of("EVBENCH_PLAN"), len, s->why)))
		*len = -1;
	PMPI_Bcast(len, 1, MPI_LONG_LONG, 0, s->row.comm);
	if (*len < 0) {
		PMPI_Bcast(s->why, PLAN_WHY, MPI_CHAR, 0, s->row.comm);
		return NULL;
	}
	if (!text && !(text = malloc(*len + 1)))
		PMPI_Abort(MPI_COMM_WORLD, 1); /* the others wait for it */
	PMPI_Bcast(text, (int)*len, MPI_CHAR, 0, s->row.comm);
	return text;
}

/* places fills in which rank is where, server * slots + slot; -1 where none is. */
static int places(struct state *s, const struct plan *p, int *rank_of, int *own)
{
	char name[MPI_MAX_PROCESSOR_NAME] = {0}, *names = malloc((size_t)s->row.size * MPI_MAX_PROCESSOR_NAME);
	int n, err = names ? 0 : -1;
	if (!agreed(s->row.comm, !err)) {
		free(names);
		return snprintf(s->why, PLAN_WHY, "no memory"), -1;
	}
	PMPI_Get_processor_name(name, &n);
	PMPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, s->row.comm);
	for (int i = 0; i < p->servers * p->slots; i++)
		rank_of[i] = -1;
	for (int rank = 0; !err && rank < s->row.size; rank++) {
		char *host = names + (size_t)rank * MPI_MAX_PROCESSOR_NAME;
		int server = p->server[0].name[0] ? plan_find(p, host) : rank, slot = 0;
		if (server < 0) {
			err = snprintf(s->why, PLAN_WHY, "the plan has no host %.60s", host);
			break;
		}
		while (slot < p->server[server].slots && rank_of[server * p->slots + slot] >= 0)
			slot++;
		if (slot == p->server[server].slots)
			err = snprintf(s->why, PLAN_WHY, "%.60s has more ranks than the plan's %d", host, slot);
		else
			rank_of[server * p->slots + slot] = rank;
		if (!err && rank == s->row.rank)
			*own = server * p->slots + slot;
	}
	free(names);
	return err;
}

/* partners fills in the row of this rank. In a phase each rank on a host sends to each rank on
 * another, in as many steps; step i goes to the rank i slots further. */
static int partners(struct state *s, const struct plan *p, const int *rank_of, int own)
{
	struct row *r = &s->row;
	int server = own / p->slots, slot = own % p->slots, k = p->slots;
	int *to = malloc((p->phases + 1) * sizeof *to), *from = malloc((p->phases + 1) * sizeof *from);
	r->phases = p->phases;
	r->steps = k;
	size_t steps = (size_t)p->phases * k;
	r->to = malloc((steps + 1) * sizeof *r->to);
	r->from = malloc((steps + 1) * sizeof *r->from);
	r->near_to = malloc(k * sizeof *r->near_to);
	r->near_from = malloc(k * sizeof *r->near_from);
	r->requests = malloc(((size_t)k + r->size) * sizeof *r->requests);
	int err = to && from && r->to && r->from && r->near_to && r->near_from && r->requests ? 0 : snprintf(s->why, PLAN_WHY, "no memory");
	if (!err)
		err = plan_row(p, server, to, from, s->why);
	for (size_t i = 0; !err && i < steps; i++) {
		int phase = i / k, further = i % k;
		r->to[i] = to[phase] < 0 ? -1 : rank_of[to[phase] * k + (slot + further) % k];
		r->from[i] = from[phase] < 0 ? -1 : rank_of[from[phase] * k + (slot + k - further) % k];
	}
	for (int i = 1; !err && i < k; i++) {
		r->near_to[r->beside] = rank_of[server * k + (slot + i) % k];
		r->near_from[r->beside++] = rank_of[server * k + (slot + k - i) % k];
	}
	free(to);
	free(from);
	return err;
}

/* linked reports whether ranks exchange over links at all, or all share memory: then they wait
 * for each other in phases for nothing. */
static int linked(const struct state *s)
{
	MPI_Comm beside;
	int n = 0;
	PMPI_Comm_split_type(s->row.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &beside);
	PMPI_Comm_size(beside, &n);
	PMPI_Comm_free(&beside);
	return !agreed(s->row.comm, n == s->row.size && !file_of("EVBENCH_ALWAYS"));
}

/* follow finds out whether a communicator can follow the plan; all its ranks come to the same. */
static void follow(struct state *s)
{
	long long len;
	struct plan p;
	char *text = shared(s, &len);
	if (!text)
		return;
	int err = plan_read(&p, text, len, s->why);
	if (!err && p.ranks != s->row.size) {
		snprintf(s->why, PLAN_WHY, "the communicator has %d ranks, the plan %d", s->row.size, p.ranks);
		plan_free(&p);
		err = -1;
	}
	if (!err) { /* the same for all ranks until here: they read one text */
		int own = 0, *rank_of = malloc((size_t)p.servers * p.slots * sizeof *rank_of);
		if (!rank_of)
			PMPI_Abort(MPI_COMM_WORLD, 1);
		err = places(s, &p, rank_of, &own);
		if (!err)
			s->planned = agreed(s->row.comm, partners(s, &p, rank_of, own) == 0);
		if (!err && !s->planned && !s->why[0])
			snprintf(s->why, PLAN_WHY, "another rank cannot follow the plan");
		if (s->planned && !linked(s)) {
			s->planned = 0;
			snprintf(s->why, PLAN_WHY, "all ranks share memory and use no link (EVBENCH_ALWAYS=1 has them follow it)");
		}
		free(rank_of);
		plan_free(&p);
	}
	free(text);
}

/* state_of returns what is known of a communicator, at its first call after finding out. */
static struct state *state_of(MPI_Comm comm)
{
	struct state *s;
	int found, inter;
	pthread_mutex_lock(&lock);
	if (key == MPI_KEYVAL_INVALID) {
		PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &key, NULL);
		PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL); /* so that MPI_Finalize calls freed */
	}
	pthread_mutex_unlock(&lock);
	PMPI_Comm_get_attr(comm, key, &s, &found);
	if (found && s)
		return s;
	PMPI_Comm_test_inter(comm, &inter);
	if (inter || !(s = calloc(1, sizeof *s)))
		return NULL;
	PMPI_Comm_dup(comm, &s->row.comm);
	PMPI_Comm_rank(comm, &s->row.rank);
	PMPI_Comm_size(comm, &s->row.size);
	if (file_of("EVBENCH_PLAN"))
		follow(s);
	pthread_mutex_lock(&lock);
	struct state **at = &states;
	while (*at)
		at = &(*at)->next;
	*at = s;
	pthread_mutex_unlock(&lock);
	if (comm != MPI_COMM_SELF)
		PMPI_Comm_set_attr(comm, key, s);
	return s;
}

static long long least(void)
{
	const char *s = file_of("EVBENCH_MIN");
	return s ? atoll(s) : 16384;
}

/* left_out says once, on rank 0, why the plan is not followed. */
static int left_out(struct state *s, const char *why)
{
	if (file_of("EVBENCH_PLAN") && s->row.rank == 0 && !s->said++)
		fprintf(stderr, "libevbench: not in the order of the plan: %s\n", why);
	return 0;
}

static long long bytes_of(int count, MPI_Datatype type)
{
	int size = 0;
	PMPI_Type_size(type, &size);
	return (long long)count * size;
}

/* fits reports whether a call follows the plan. most are the bytes for the rank that gets most;
 * where ranks may differ in it, they agree. */
static int fits(struct state *s, const void *sendbuf, long long most, int differ)
{
	if (!s->planned)
		return left_out(s, s->why);
	if (sendbuf == MPI_IN_PLACE)
		return left_out(s, "MPI_IN_PLACE");
	if (differ)
		PMPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_LONG_LONG, MPI_MAX, s->row.comm);
	if (most < least()) {
		char why[PLAN_WHY];
		snprintf(why, sizeof why, "%lld bytes to a rank are less than EVBENCH_MIN, %lld", most, least());
		return left_out(s, why);
	}
	return 1;
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

int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	struct state *s = comm == MPI_COMM_NULL || comm == MPI_COMM_SELF ? NULL : state_of(comm);
	if (!s)
		return PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
	/* where sendbuf is MPI_IN_PLACE, sendtype says nothing */
	long long most, sum = to_others(s, NULL, recvcount, recvtype, &most);
	int planned = fits(s, sendbuf, most, 0), err;
	double start = PMPI_Wtime();
	if (planned) {
		struct side send = {(char *)sendbuf, NULL, NULL, sendcount, sendtype}, recv = {recvbuf, NULL, NULL, recvcount, recvtype};
		err = exchange(&s->row, &send, &recv);
	} else
		err = PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
	record_add(&s->record, CALL_ALLTOALL, planned, PMPI_Wtime() - start, sum);
	return err;
}

int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
	const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
	struct state *s = comm == MPI_COMM_NULL || comm == MPI_COMM_SELF ? NULL : state_of(comm);
	if (!s)
		return PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
	int in_place = sendbuf == MPI_IN_PLACE, err;
	double start = PMPI_Wtime();
	long long most, sum = to_others(s, in_place ? recvcounts : sendcounts, 0, in_place ? recvtype : sendtype, &most);
	int planned = fits(s, sendbuf, most, 1);
	if (planned) {
		struct side send = {(char *)sendbuf, sendcounts, sdispls, 0, sendtype}, recv = {recvbuf, recvcounts, rdispls, 0, recvtype};
		err = exchange(&s->row, &send, &recv);
	} else
		err = PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm);
	record_add(&s->record, CALL_ALLTOALLV, planned, PMPI_Wtime() - start, sum);
	return err;
}

static int query(void *extra, MPI_Status *status)
{
	(void)extra;
	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

static int nothing_to_free(void *extra)
{
	(void)extra;
	return MPI_SUCCESS;
}

static int no_cancel(void *extra, int complete)
{
	(void)extra, (void)complete;
	return MPI_SUCCESS;
}

/* In the order of the plan all is done within this call: the request is complete. */
int MPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
	MPI_Request *request)
{
	struct state *s = comm == MPI_COMM_NULL || comm == MPI_COMM_SELF ? NULL : state_of(comm);
	long long most = 0, sum = s ? to_others(s, NULL, recvcount, recvtype, &most) : 0;
	if (!s || !fits(s, sendbuf, most, 0))
		return PMPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
	struct side send = {(char *)sendbuf, NULL, NULL, sendcount, sendtype}, recv = {recvbuf, NULL, NULL, recvcount, recvtype};
	double start = PMPI_Wtime();
	int err = exchange(&s->row, &send, &recv);
	record_add(&s->record, CALL_IALLTOALL, 1, PMPI_Wtime() - start, sum);
	if (!err)
		err = PMPI_Grequest_start(query, nothing_to_free, no_cancel, NULL, request);
	return err ? err : PMPI_Grequest_complete(*request);
}
