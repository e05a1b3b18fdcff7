//go:build mpi

// The end of an endpoint. What MPI still needs of it stays until MPI is through.

#include "engine.h"

#include <stdlib.h>
#include <string.h>

// A message that nobody asked for, on its way to the bin.
typedef struct evb_left {
	struct evb_left *next;
	void *buf;
	MPI_Request req;
} evb_left;

// cancel takes a receive back. It returns 1 if its message has come, or is
// about to.
static int cancel(MPI_Request *r) {
	MPI_Status st;
	int done = 0, cancelled = 0;
	if (*r == MPI_REQUEST_NULL) {
		return 1;
	}
	MPI_Cancel(r);
	MPI_Test(r, &done, &st);
	if (done) {
		MPI_Test_cancelled(&st, &cancelled);
	}
	return !cancelled;
}

// cancel_all takes back what was posted, and counts what has come all the same.
static void cancel_all(evb_stream *q, int part) {
	for (evb_slot *s = q->first; s != NULL; s = s->next) {
		int came = cancel(&s->req[part]);
		if (part == 1) {
			cancel(&s->req[0]);
		}
		q->done += came;
	}
}

// evb_close tells the others, and takes back all receives.
void evb_close(evb_ep *e) {
	for (int p = 0; p < e->n; p++) {
		evb_stream *q = &e->streams[p * EVB_KINDS];
		if (p == e->rank) {
			continue;
		}
		cancel_all(&q[EVB_RECV], 1);
		cancel_all(&q[EVB_ASKED], 0);
		cancel_all(&q[EVB_AWAIT], 0);
		e->words[p][EVB_BYE_DATA] = q[EVB_RECV].done;
		e->words[p][EVB_BYE_ASKS] = q[EVB_ASKED].done;
		e->words[p][EVB_BYE_BARRIERS] = e->entered;
		MPI_Isend(e->words[p], EVB_BYE, MPI_UINT64_T, e->world[p], e->tag + EVB_TAG_BYE, e->w->data, &e->byes[p]);
	}
}

static int quiet(MPI_Request *r) {
	int done = 1;
	if (*r != MPI_REQUEST_NULL) {
		MPI_Test(r, &done, MPI_STATUS_IGNORE);
	}
	return done;
}

// quiet_streams reports whether MPI is through with all operations.
static int quiet_streams(evb_ep *e) {
	int all = 1;
	for (int i = 0; i < e->n * EVB_KINDS; i++) {
		evb_stream *q = &e->streams[i];
		while (q->first != NULL && quiet(&q->first->req[0]) && quiet(&q->first->req[1])) {
			q->first = q->first->next;
		}
		all &= q->first == NULL;
	}
	return all;
}

static int took_bye(evb_ep *e) {
	int done = 0;
	MPI_Status st;
	if (e->left == 0) {
		return 1;
	}
	if (e->bye == MPI_REQUEST_NULL) {
		return 0; // it failed when it was posted
	}
	MPI_Test(&e->bye, &done, &st);
	if (!done) {
		return 0;
	}
	if (--e->left > 0) {
		MPI_Irecv(e->word, EVB_BYE, MPI_UINT64_T, MPI_ANY_SOURCE, e->tag + EVB_TAG_BYE, e->w->data, &e->bye);
	}
	return took_bye(e);
}

// sweep receives what nobody asked for, so that its sender is rid of it, and
// returns how much of that is not through.
static int sweep(evb_ep *e) {
	for (int t = EVB_TAG_HEAD; t < EVB_TAG_BYE; t++) {
		for (;;) {
			int found = 0, n = 0;
			MPI_Message m;
			MPI_Status st;
			if (MPI_Improbe(MPI_ANY_SOURCE, e->tag + t, e->w->data, &found, &m, &st) != MPI_SUCCESS || !found) {
				break;
			}
			MPI_Get_count(&st, MPI_BYTE, &n);
			evb_left *l = malloc(sizeof *l);
			l->buf = malloc(n > 0 ? n : 1);
			MPI_Imrecv(l->buf, n, MPI_BYTE, &m, &l->req);
			l->next = e->lefts;
			e->lefts = l;
		}
	}
	int left = 0;
	for (evb_left **l = &e->lefts; *l != NULL;) {
		evb_left *x = *l;
		if (!quiet(&x->req)) {
			left++;
			l = &x->next;
			continue;
		}
		*l = x->next;
		free(x->buf);
		free(x);
	}
	return left;
}

// evb_reap goes on with the end of a closed endpoint: 0 means that MPI may
// still touch memory of its operations, 1 that it will not, 2 that all ranks
// have closed and nothing is left; then the endpoint is no more.
int evb_reap(evb_ep *e) {
	int calm = quiet_streams(e);
	int told = 1;
	for (int p = 0; p < e->n; p++) {
		told &= quiet(&e->byes[p]);
	}
	if (!took_bye(e) || sweep(e) > 0 || !calm || !told) {
		return calm;
	}
	free(e->world);
	free(e->streams);
	free(e->reqs);
	free(e->owner);
	free(e->at);
	free(e->status);
	free(e->gone);
	free(e->last_words);
	free(e->words);
	free(e->byes);
	free(e);
	return 2;
}
