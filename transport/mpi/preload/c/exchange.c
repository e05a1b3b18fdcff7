#include "exchange.h"

#include <string.h>
#include <time.h>

enum { TAG_DATA = 1, TAG_BARRIER = 2 };

static char *block(const struct side *s, int rank, MPI_Aint extent, int *count)
{
	*count = s->counts ? s->counts[rank] : s->count;
	return s->buf + (s->displs ? (MPI_Aint)s->displs[rank] : (MPI_Aint)rank * s->count) * extent;
}

/* finish waits for requests. After some milliseconds it sleeps for a small part of the time that
 * it has waited: ranks that share processors with others, or with the kernel that forwards
 * their bytes, would else take these from them. Before, a sleep would last longer than that. */
static int finish(int n, MPI_Request *requests)
{
	double start = PMPI_Wtime();
	for (;;) {
		int done = 0, err = PMPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
		if (err || done)
			return err;
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
	int err = PMPI_Irecv(NULL, 0, MPI_BYTE, rank, TAG_BARRIER, r->comm, &request);
	return err ? err : finish(1, &request);
}

static int tell(const struct row *r, int rank) { return PMPI_Send(NULL, 0, MPI_BYTE, rank, TAG_BARRIER, r->comm); }

/* barrier is a tournament: the loser of a round tells the winner and waits for its word. */
static int barrier(const struct row *r)
{
	int err = MPI_SUCCESS, bit = 1;
	for (; !err && bit < r->size && !(r->rank & bit); bit *= 2)
		if (r->rank + bit < r->size)
			err = hear(r, r->rank + bit);
	if (!err && r->rank & bit) {
		err = tell(r, r->rank - bit);
		if (!err)
			err = hear(r, r->rank - bit);
	}
	for (bit /= 2; !err && bit > 0; bit /= 2)
		if (r->rank + bit < r->size)
			err = tell(r, r->rank + bit);
	return err;
}

struct both { const struct side *send, *recv; MPI_Aint send_extent, recv_extent; };

/* post posts a message of each of n peers, and puts its requests behind those that are there. */
static int post(const struct row *r, const struct both *b, const int *peers, int n, int sending, MPI_Request *requests, int *posted)
{
	int err = MPI_SUCCESS, count;
	for (int i = 0; !err && i < n; i++) {
		if (peers[i] < 0)
			continue;
		if (sending) {
			char *at = block(b->send, peers[i], b->send_extent, &count);
			err = PMPI_Isend(at, count, b->send->type, peers[i], TAG_DATA, r->comm, &requests[*posted]);
		} else {
			char *at = block(b->recv, peers[i], b->recv_extent, &count);
			err = PMPI_Irecv(at, count, b->recv->type, peers[i], TAG_DATA, r->comm, &requests[*posted]);
		}
		*posted += !err;
	}
	return err;
}

/* own copies the block that a rank has for itself. */
static int own(struct row *r, const struct both *b)
{
	int n, m, size;
	char *from = block(b->send, r->rank, b->send_extent, &n), *to = block(b->recv, r->rank, b->recv_extent, &m);
	MPI_Aint lb, extent;
	PMPI_Type_size(b->send->type, &size);
	PMPI_Type_get_true_extent(b->send->type, &lb, &extent);
	if (b->send->type == b->recv->type && lb == 0 && extent == size && b->send_extent == extent) {
		memcpy(to, from, (size_t)n * size);
		return MPI_SUCCESS;
	}
	return PMPI_Sendrecv(from, n, b->send->type, r->rank, TAG_DATA, to, m, b->recv->type, r->rank, TAG_DATA, r->comm, MPI_STATUS_IGNORE);
}

/* A phase is over for a rank when it has received: that what it sent has arrived, too, the next
 * barrier says, so sends are waited for in the end only. The first phase has a barrier, too:
 * ranks that are idle in the last one would begin the next call within it. */
int exchange(struct row *r, const struct side *send, const struct side *recv)
{
	struct both b = {send, recv, 0, 0};
	MPI_Aint lb;
	MPI_Request *taken = r->requests, *sent = r->requests + r->steps;
	int taking = 0, sending = 0;
	PMPI_Type_get_extent(send->type, &lb, &b.send_extent);
	PMPI_Type_get_extent(recv->type, &lb, &b.recv_extent);
	int err = post(r, &b, r->near_from, r->beside, 0, taken, &taking);
	if (!err)
		err = post(r, &b, r->near_to, r->beside, 1, sent, &sending);
	if (!err)
		err = own(r, &b);
	if (!err)
		err = finish(taking, taken);
	for (int p = 0; !err && p < r->phases; p++) {
		taking = 0;
		err = post(r, &b, r->from + p * r->steps, r->steps, 0, taken, &taking);
		if (!err)
			err = barrier(r);
		if (!err)
			err = post(r, &b, r->to + p * r->steps, r->steps, 1, sent, &sending);
		if (!err)
			err = finish(taking, taken);
	}
	return err ? err : finish(sending, sent);
}
