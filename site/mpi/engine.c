//go:build mpi

// Operations of an endpoint: started, tested, done.

#include "engine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int fail(evb_ep *e, int kind, int code, int peer, int op) {
	if (e->err.kind == EVB_OK) {
		e->err = (evb_error){kind, code, peer, op};
	}
	return -1;
}

static int fail_mpi(evb_ep *e, int code, int peer, int op) {
	int class = MPI_ERR_OTHER;
	MPI_Error_class(code, &class);
	return fail(e, class == MPI_ERR_TRUNCATE ? EVB_SIZE : EVB_MPI, code, peer, op);
}

static void activate(evb_ep *e, MPI_Request *r, evb_stream *s, int part) {
	e->reqs[e->active] = *r;
	e->owner[e->active++] = (evb_owner){s, part};
}

// enlist has the requests of a stream's first operation tested.
static void enlist(evb_ep *e, evb_stream *s) {
	for (int i = 0; i < 2; i++) {
		if (s->first->req[i] != MPI_REQUEST_NULL) {
			activate(e, &s->first->req[i], s, i);
		}
	}
}

static int await_bye(evb_ep *e) {
	return MPI_Irecv(e->word, EVB_BYE, MPI_UINT64_T, MPI_ANY_SOURCE, e->tag + EVB_TAG_BYE, e->w->data, &e->bye);
}

evb_ep *evb_open(evb_world *w, uint32_t id, int rank, int n, int *world, int32_t *look) {
	evb_ep *e = calloc(1, sizeof *e);
	int most = 2 * EVB_KINDS * n + 2;
	if (e == NULL) {
		return NULL;
	}
	e->look = look, e->enter = MPI_COMM_NULL;
	e->w = w, e->rank = rank, e->n = n, e->left = n - 1;
	e->tag = (int)(id % (uint32_t)w->ids) * EVB_TAGS;
	e->world = malloc(n * sizeof *e->world);
	e->streams = calloc(n * EVB_KINDS, sizeof *e->streams);
	e->reqs = malloc(most * sizeof *e->reqs);
	e->owner = malloc(most * sizeof *e->owner);
	e->at = malloc(most * sizeof *e->at);
	e->status = malloc(most * sizeof *e->status);
	e->gone = calloc(n, 1);
	e->last_words = calloc(n, sizeof *e->last_words);
	e->words = calloc(n, sizeof *e->words);
	e->byes = malloc(n * sizeof *e->byes);
	e->bye = MPI_REQUEST_NULL;
	if (!e->world || !e->streams || !e->reqs || !e->owner || !e->at || !e->status || !e->gone || !e->last_words || !e->words || !e->byes) {
		return NULL;
	}
	for (int i = 0; i < n; i++) {
		e->world[i] = world[i];
		e->byes[i] = MPI_REQUEST_NULL;
	}
	if (n > 1) {
		int rc = await_bye(e);
		if (rc != MPI_SUCCESS) {
			fail_mpi(e, rc, -1, EVB_RECV);
		} else {
			activate(e, &e->bye, NULL, 0);
		}
	}
	return e;
}

evb_slot *evb_slots(int n) { return calloc(n, sizeof(evb_slot)); }

evb_slot *evb_slot_at(evb_slot *s, int i) { return s + i; }

// start hands one operation to MPI.
static int start(evb_ep *e, evb_slot *s) {
	MPI_Comm c = e->w->data;
	int to = e->world[s->peer], t = e->tag, rc, second = MPI_SUCCESS;
	s->left = 1;
	s->req[0] = s->req[1] = MPI_REQUEST_NULL;
	switch (s->kind) {
	case EVB_SEND:
		rc = MPI_Isend(s->head, EVB_HEAD, MPI_BYTE, to, t + EVB_TAG_HEAD, c, &s->req[0]);
		second = MPI_Isend(s->body, s->size, MPI_BYTE, to, t + EVB_TAG_BODY, c, &s->req[1]);
		s->left = 2;
		break;
	case EVB_RECV:
		rc = MPI_Irecv(s->head, EVB_HEAD, MPI_BYTE, to, t + EVB_TAG_HEAD, c, &s->req[0]);
		second = MPI_Irecv(s->body, s->size, MPI_BYTE, to, t + EVB_TAG_BODY, c, &s->req[1]);
		s->left = 2;
		break;
	case EVB_ASK:
		rc = MPI_Isend(s->head, EVB_HEAD, MPI_BYTE, to, t + EVB_TAG_ASK, c, &s->req[0]);
		break;
	case EVB_ASKED:
		rc = MPI_Irecv(s->head, EVB_HEAD, MPI_BYTE, to, t + EVB_TAG_ASK, c, &s->req[0]);
		break;
	case EVB_SIGNAL:
		rc = MPI_Isend(s->head, 8, MPI_BYTE, to, t + EVB_TAG_SIGNAL, c, &s->req[0]);
		break;
	default:
		rc = MPI_Irecv(s->head, 8, MPI_BYTE, to, t + EVB_TAG_SIGNAL, c, &s->req[0]);
	}
	return rc != MPI_SUCCESS ? rc : second;
}

// begin starts an operation, behind those of its stream.
static int begin(evb_ep *e, evb_slot *s) {
	evb_stream *q = &e->streams[s->peer * EVB_KINDS + s->kind];
	int sends = s->kind == EVB_SEND || s->kind == EVB_ASK || s->kind == EVB_SIGNAL;
	s->next = NULL;
	s->n = s->kind == EVB_SEND ? s->size : 0;
	s->seq = q->begun++;
	if (s->waited) {
		e->missing++;
	}
	if (sends && e->gone[s->peer]) {
		s->req[0] = s->req[1] = MPI_REQUEST_NULL;
		return fail(e, EVB_GONE, 0, s->peer, s->kind);
	}
	int rc = start(e, s);
	if (q->first == NULL) {
		q->first = q->last = s;
		enlist(e, q);
	} else {
		q->last = q->last->next = s;
	}
	return rc == MPI_SUCCESS ? 0 : fail_mpi(e, rc, s->peer, s->kind);
}

// over takes the first operation, which is done, out of its stream.
static void over(evb_ep *e, evb_stream *q) {
	evb_slot *s = q->first;
	q->first = s->next;
	q->done++;
	if (q->first != NULL) {
		enlist(e, q);
	}
	s->next = NULL;
	if (s->waited) {
		e->missing--;
	} else if (s->kind == EVB_SIGNAL) {
		s->next = e->spare;
		e->spare = s;
	} else if (e->done == NULL) {
		e->done = e->last = s;
	} else {
		e->last = e->last->next = s;
	}
}

// took_bye notes that a rank has closed, and what it had taken until then.
static int took_bye(evb_ep *e, MPI_Status *st) {
	for (int p = 0; p < e->n; p++) {
		if (e->world[p] == st->MPI_SOURCE && !e->gone[p]) {
			e->gone[p] = 1;
			memcpy(e->last_words[p], e->word, sizeof e->word);
			e->left--;
		}
	}
	e->bye = MPI_REQUEST_NULL;
	return e->left > 0 ? await_bye(e) : MPI_SUCCESS;
}

// finish handles the request at a place, which is done.
static int finish(evb_ep *e, int at, MPI_Status *st, int rc) {
	evb_stream *q = e->owner[at].stream;
	int part = e->owner[at].part, n = 0;
	if (q == NULL && part == 1) { // the barrier
		e->missing--;
		e->inside = 0;
		return rc == MPI_SUCCESS ? 0 : fail_mpi(e, rc, -1, EVB_AWAIT);
	}
	if (q == NULL) {
		if (rc == MPI_SUCCESS) {
			rc = took_bye(e, st);
		}
		if (e->bye != MPI_REQUEST_NULL) {
			activate(e, &e->bye, NULL, 0);
		}
		return rc == MPI_SUCCESS ? 0 : fail_mpi(e, rc, -1, EVB_RECV);
	}
	evb_slot *s = q->first;
	s->req[part] = MPI_REQUEST_NULL;
	if (rc != MPI_SUCCESS) {
		return fail_mpi(e, rc, s->peer, s->kind);
	}
	if (s->kind == EVB_RECV && part == 1) {
		MPI_Get_count(st, MPI_BYTE, &n);
		s->n = n;
	}
	if (--s->left == 0) {
		over(e, q);
	}
	return 0;
}

// compact closes the gaps that finished requests have left.
static void compact(evb_ep *e) {
	for (int i = 0; i < e->active;) {
		if (e->reqs[i] != MPI_REQUEST_NULL) {
			i++;
			continue;
		}
		e->active--;
		e->reqs[i] = e->reqs[e->active];
		e->owner[i] = e->owner[e->active];
	}
}

// test lets MPI work and handles what is done; it returns how many requests
// that were, or -1.
static int test(evb_ep *e) {
	int out = 0, bad = 0;
	int rc = MPI_Testsome(e->active, e->reqs, &out, e->at, e->status);
	if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS) {
		return fail_mpi(e, rc, -1, EVB_RECV);
	}
	if (out == MPI_UNDEFINED || out == 0) {
		return 0;
	}
	for (int i = 0; i < out; i++) {
		MPI_Status *st = &e->status[i];
		e->reqs[e->at[i]] = MPI_REQUEST_NULL;
		bad |= finish(e, e->at[i], st, rc == MPI_SUCCESS ? MPI_SUCCESS : st->MPI_ERROR);
	}
	compact(e);
	return bad ? -1 : out;
}

// orphaned fails the endpoint when it waits for what a closed rank will not do.
// All that such a rank had sent came before its bye, so that it has been matched.
static int orphaned(evb_ep *e) {
	for (int p = 0; p < e->n; p++) {
		if (!e->gone[p]) {
			continue;
		}
		evb_stream *q = &e->streams[p * EVB_KINDS];
		evb_slot *send = q[EVB_SEND].first, *recv = q[EVB_RECV].first, *ask = q[EVB_ASK].first, *await = q[EVB_AWAIT].first;
		if (recv != NULL && recv->req[0] != MPI_REQUEST_NULL) {
			return fail(e, EVB_GONE, 0, p, EVB_RECV);
		}
		if (send != NULL && send->seq >= e->last_words[p][EVB_BYE_DATA]) {
			return fail(e, EVB_GONE, 0, p, EVB_SEND);
		}
		if (ask != NULL && ask->seq >= e->last_words[p][EVB_BYE_ASKS]) {
			return fail(e, EVB_GONE, 0, p, EVB_ASK);
		}
		if (await != NULL || (e->inside && e->last_words[p][EVB_BYE_BARRIERS] < e->entered)) {
			return fail(e, EVB_GONE, 0, p, EVB_AWAIT);
		}
	}
	return 0;
}

static int64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// How long a thread that waits is awake before it begins to sleep now and then, and the least and the
// most of such a sleep, which is a small part of the time that it has waited: one that waits for a
// long fragment leaves the core to others, and is late by less than a hundredth.
static const int64_t awake_ns = 1000 * 1000, least_nap_ns = 30 * 1000, most_nap_ns = 200 * 1000, part_nap = 128;

// How many rounds without anything done go by between looks at the clock.
static const int glance = 16;

// yield lets others have the core. Open MPI does that itself, as Start asks it to.
static void yield(void) {
#ifndef OPEN_MPI
	sched_yield();
#endif
}

// turn notes and reports whether it is time for a turn of others.
static int turn(evb_world *w, int64_t now) {
	if (now - w->turned > EVB_TURN_MS * 1000000LL) {
		w->turned = now;
		w->turn = 1;
	}
	return w->turn;
}

// nap sleeps a little if nothing was done for long, and reports whether it has.
static int nap(evb_ep *e, int64_t now) {
	if (e->since == 0) {
		e->since = now;
	}
	int64_t waited = now - e->since, ns = waited / part_nap;
	if (waited <= awake_ns) {
		return 0;
	}
	struct timespec t = {0, ns < least_nap_ns ? least_nap_ns : ns > most_nap_ns ? most_nap_ns : ns};
	nanosleep(&t, NULL);
	return 1;
}

static int control_came(evb_world *w) {
	int flag = 0;
	MPI_Request_get_status(w->ring[w->head], &flag, MPI_STATUS_IGNORE);
	return flag;
}

// evb_post starts a chain of operations.
int evb_post(evb_ep *e, evb_slot *chain) {
	while (chain != NULL) {
		evb_slot *next = chain->next;
		if (begin(e, chain) != 0) {
			return -1;
		}
		chain = next;
	}
	return 0;
}

// enter begins a barrier.
static void enter(evb_ep *e) {
	MPI_Request r;
	int rc = MPI_Ibarrier(e->enter, &r);
	e->enter = MPI_COMM_NULL;
	if (rc != MPI_SUCCESS) {
		fail_mpi(e, rc, -1, EVB_AWAIT);
		return;
	}
	e->entered++;
	e->inside = 1;
	e->missing++;
	activate(e, &r, NULL, 1);
}

// evb_drive starts a chain of operations and enters a barrier, if one is asked for, and
// works until what is waited for is done or, if posted is set, until an operation
// is that was posted.
int evb_drive(evb_ep *e, evb_slot *start, int posted) {
	evb_post(e, start);
	if (e->enter != MPI_COMM_NULL) {
		enter(e);
	}
	for (int quiet = 1;; quiet++) {
		int n = test(e), over = n > 0 && turn(e->w, now_ns());
		if (posted ? e->done != NULL : e->missing == 0) {
			return EVB_DONE;
		}
		if (e->err.kind != EVB_OK) {
			return EVB_FAILED;
		}
		if (over) {
			return EVB_TURN;
		}
		if (n > 0) {
			e->since = quiet = 0;
			continue;
		}
		if (e->left < e->n - 1 && orphaned(e) != 0) {
			return EVB_FAILED;
		}
		if (__atomic_load_n(e->look, __ATOMIC_ACQUIRE)) {
			return EVB_LOOK;
		}
		if (__atomic_load_n(&e->w->wanted, __ATOMIC_ACQUIRE)) {
			return EVB_YIELD;
		}
		yield();
		if (quiet % glance != 0) {
			continue;
		}
		if (control_came(e->w)) {
			return EVB_CONTROL;
		}
		int64_t now = now_ns();
		if (nap(e, now)) {
			quiet = -1; // one test is enough before the next nap
		} else if (turn(e->w, now)) { // of who sleeps others have enough
			return EVB_TURN;
		}
	}
}
