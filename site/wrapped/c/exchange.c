#include "exchange.h"
#include "world.h"

#include <limits.h>
#include <string.h>
#include <time.h>

static char *block(const struct side *s, int rank, MPI_Aint extent, MPI_Count *count)
{
	*count = side_count(s, rank);
	return s->buf + (s->displs ? (MPI_Aint)s->displs[rank] : s->displs_c ? s->displs_c[rank] : (MPI_Aint)(rank * s->count)) * extent;
}

/* isend and irecv count as far as MPI does: up to MPI 3 there are no larger counts. */
static int isend(const struct row *r, const void *at, MPI_Count count, MPI_Datatype type, int rank, MPI_Request *request)
{
#if MPI_VERSION >= 4
	if (count > INT_MAX)
		return PMPI_Isend_c(at, count, type, r->world[rank], r->tag, world.comm, request);
#endif
	return PMPI_Isend(at, (int)count, type, r->world[rank], r->tag, world.comm, request);
}

static int irecv(const struct row *r, void *at, MPI_Count count, MPI_Datatype type, int rank, MPI_Request *request)
{
#if MPI_VERSION >= 4
	if (count > INT_MAX)
		return PMPI_Irecv_c(at, count, type, r->world[rank], r->tag, world.comm, request);
#endif
	return PMPI_Irecv(at, (int)count, type, r->world[rank], r->tag, world.comm, request);
}

/* keep has the first of several errors stay. */
static void keep(int *err, int next)
{
	if (!*err)
		*err = next;
}

/* finish waits for requests. After some milliseconds it sleeps for a small part of the time that
 * it has waited: ranks that share processors with others, or with the kernel that forwards
 * their bytes, would else take these from them. Before, a sleep would last longer than that. */
static int finish(int n, MPI_Request *requests, MPI_Status *statuses)
{
	double start = PMPI_Wtime();
	for (int first = MPI_SUCCESS;;) {
		int done = 0, pending = 0, err = PMPI_Testall(n, requests, &done, statuses);
		for (int i = 0; err == MPI_ERR_IN_STATUS && i < n; i++) {
			pending |= statuses[i].MPI_ERROR == MPI_ERR_PENDING;
			if (statuses[i].MPI_ERROR != MPI_ERR_PENDING)
				keep(&first, statuses[i].MPI_ERROR);
		}
		if (err != MPI_ERR_IN_STATUS)
			keep(&first, err);
		if (done || (err && !pending))
			return first;
		double waited = PMPI_Wtime() - start;
		struct timespec t = {0, waited < 64e-3 ? (long)(waited * 1e9 / 64) : 1000000};
		if (t.tv_nsec > 50000)
			nanosleep(&t, NULL);
	}
}

/* hear waits for a signal of a rank, tell sends one. */
static int hear(const struct row *r, int rank)
{
	MPI_Request request;
	MPI_Status status;
	int err = PMPI_Irecv(NULL, 0, MPI_BYTE, r->world[rank], r->tag + 1, world.comm, &request);
	return err ? err : finish(1, &request, &status);
}

static int tell(const struct row *r, int rank) { return PMPI_Send(NULL, 0, MPI_BYTE, r->world[rank], r->tag + 1, world.comm); }

/* barrier is a tournament: the loser of a round tells the winner and waits for its word. */
static void barrier(const struct row *r, int *err)
{
	int bit = 1;
	for (; bit < r->size && !(r->rank & bit); bit *= 2)
		if (r->rank + bit < r->size)
			keep(err, hear(r, r->rank + bit));
	if (r->rank & bit) {
		keep(err, tell(r, r->rank - bit));
		keep(err, hear(r, r->rank - bit));
	}
	for (bit /= 2; bit > 0; bit /= 2)
		if (r->rank + bit < r->size)
			keep(err, tell(r, r->rank + bit));
}

struct both { const struct side *send, *recv; MPI_Aint send_extent, recv_extent; int err; };

/* post posts a message of each of n peers, and puts its requests behind those that are there. */
static void post(const struct row *r, struct both *b, const int *peers, int n, int sending, MPI_Request *requests, int *posted)
{
	for (int i = 0; i < n; i++) {
		MPI_Count count;
		int err;
		if (peers[i] < 0)
			continue;
		if (sending) {
			char *at = block(b->send, peers[i], b->send_extent, &count);
			err = isend(r, at, count, b->send->type, peers[i], &requests[*posted]);
		} else {
			char *at = block(b->recv, peers[i], b->recv_extent, &count);
			err = irecv(r, at, count, b->recv->type, peers[i], &requests[*posted]);
		}
		*posted += !err;
		keep(&b->err, err);
	}
}

/* own copies the block that a rank has for itself. */
static int own(struct row *r, const struct both *b)
{
	MPI_Count n, m, size;
	char *from = block(b->send, r->rank, b->send_extent, &n), *to = block(b->recv, r->rank, b->recv_extent, &m);
	MPI_Aint lb, extent;
	PMPI_Type_size_x(b->send->type, &size);
	PMPI_Type_get_true_extent(b->send->type, &lb, &extent);
	if (b->send->type == b->recv->type && lb == 0 && extent == size && b->send_extent == extent && n <= m) {
		memcpy(to, from, (size_t)n * size);
		return MPI_SUCCESS;
	}
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int err = irecv(r, to, m, b->recv->type, r->rank, &requests[0]), sent = err ? err : isend(r, from, n, b->send->type, r->rank, &requests[1]);
	return sent ? sent : finish(2, requests, statuses);
}

/* A phase is over for a rank when it has received: that what it sent has arrived, too, the next
 * barrier says, so sends are waited for in the end only. The first phase has a barrier, too:
 * ranks that are idle in the last one would begin the next call within it. */
int exchange(struct row *r, const struct side *send, const struct side *recv)
{
	struct both b = {send, recv, 0, 0, MPI_SUCCESS};
	MPI_Aint lb;
	MPI_Request *taken = r->requests, *sent = r->requests + r->most;
	int taking = 0, sending = 0;
	PMPI_Type_get_extent(send->type, &lb, &b.send_extent);
	PMPI_Type_get_extent(recv->type, &lb, &b.recv_extent);
	post(r, &b, r->near_from, r->beside, 0, taken, &taking);
	post(r, &b, r->near_to, r->beside, 1, sent, &sending);
	keep(&b.err, own(r, &b));
	keep(&b.err, finish(taking, taken, r->statuses));
	for (int p = 0; p < r->phases; p++) {
		taking = 0;
		post(r, &b, r->from + p * r->steps, r->steps, 0, taken, &taking);
		barrier(r, &b.err);
		post(r, &b, r->to + p * r->steps, r->steps, 1, sent, &sending);
		keep(&b.err, finish(taking, taken, r->statuses));
	}
	keep(&b.err, finish(sending, sent, r->statuses));
	return b.err;
}
