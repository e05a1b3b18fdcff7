//go:build mpi

// The process' place in the world, and the frames of its control connections.

#include "engine.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A frame on its way out.
typedef struct evb_out {
	struct evb_out *next;
	MPI_Request req;
	unsigned char bytes[];
} evb_out;

static int listen_at(evb_world *w, int i) {
	return MPI_Irecv(w->frames + (size_t)i * EVB_FRAME, EVB_FRAME, MPI_BYTE, MPI_ANY_SOURCE, 0, w->control, &w->ring[i]);
}

static struct sigaction handler;

// evb_keep_handler and evb_restore_handler stand around MPI_Init. That of MPICH puts a handler of SIGUSR1
// in front of Go's that runs it on the stack of whatever is interrupted, and Go then ends the program.
void evb_keep_handler(void) { sigaction(SIGUSR1, NULL, &handler); }

void evb_restore_handler(void) { sigaction(SIGUSR1, &handler, NULL); }

// evb_threads has errors returned instead of ending the process, which is the default, and returns
// the level of threads that there is. MPI has begun.
int evb_threads(void) {
	int level = MPI_THREAD_SINGLE;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Query_thread(&level);
	return level;
}

// evb_meet has each two ranks hear from each other. All is 0 if for so many ms, unless 0, none has
// been heard that had not been before; heard says who has. What is under way then stays so.
int evb_meet(int rank, int size, int ms, char *heard, int *all) {
	MPI_Request *reqs = malloc(2 * size * sizeof *reqs);
	double last = MPI_Wtime();
	int rc = reqs == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
	for (int i = 0; i < size && rc == MPI_SUCCESS; i++) {
		if ((rc = MPI_Irecv(NULL, 0, MPI_BYTE, i, 1, MPI_COMM_WORLD, &reqs[i])) == MPI_SUCCESS) {
			rc = MPI_Isend(NULL, 0, MPI_BYTE, i, 1, MPI_COMM_WORLD, &reqs[size + i]);
		}
	}
	for (*all = 0; rc == MPI_SUCCESS && !*all && (ms == 0 || MPI_Wtime() - last < ms / 1e3);) {
		*all = 1;
		for (int i = 0; i < size && rc == MPI_SUCCESS; i++) {
			int got = 0;
			if (!heard[i] && (rc = MPI_Testall(1, &reqs[i], &got, MPI_STATUSES_IGNORE)) == MPI_SUCCESS && got) {
				heard[i] = 1, last = MPI_Wtime();
			}
			*all = *all && heard[i];
		}
		if (!*all) {
			usleep(100);
		}
	}
	if (*all) {
		rc = MPI_Waitall(size, reqs + size, MPI_STATUSES_IGNORE);
		free(reqs);
	}
	return rc;
}

// evb_world_open is called by all ranks at once, after evb_threads.
evb_world *evb_world_open(int rank, int size, int *rc) {
	evb_world *w = calloc(1, sizeof *w);
	int *top = NULL, found = 0;
	w->rank = rank, w->size = size;
	if ((*rc = MPI_Comm_dup(MPI_COMM_WORLD, &w->data)) != MPI_SUCCESS) {
		return NULL;
	}
	if ((*rc = MPI_Comm_dup(MPI_COMM_WORLD, &w->control)) != MPI_SUCCESS) {
		return NULL;
	}
	MPI_Comm_set_errhandler(w->data, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(w->control, MPI_ERRORS_RETURN);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &top, &found);
	w->ids = (found ? *top : 32767) / EVB_TAGS;
	w->frames = malloc((size_t)EVB_RING * EVB_FRAME);
	w->leaving = MPI_REQUEST_NULL;
	for (int i = 0; i < EVB_RING; i++) {
		if ((*rc = listen_at(w, i)) != MPI_SUCCESS) {
			return NULL;
		}
	}
	return w;
}

void evb_text(int code, char *text, int size) {
	char s[MPI_MAX_ERROR_STRING];
	int n = 0;
	if (MPI_Error_string(code, s, &n) != MPI_SUCCESS) {
		n = 0;
	}
	n = n < size ? n : size - 1;
	memcpy(text, s, n);
	text[n] = 0;
}

// flushed frees the frames that have left, and returns how many have not.
static int flushed(evb_world *w) {
	int left = 0;
	for (evb_out **o = &w->outs; *o != NULL;) {
		evb_out *x = *o;
		int done = 0;
		MPI_Test(&x->req, &done, MPI_STATUS_IGNORE);
		if (!done) {
			left++;
			o = &x->next;
			continue;
		}
		*o = x->next;
		free(x);
	}
	return left;
}

// evb_pump lets MPI work and looks whether a frame has come; it stays in
// w->frame until evb_next.
int evb_pump(evb_world *w) {
	int done = 0;
	MPI_Status st;
	w->frame = NULL;
	flushed(w);
	int rc = MPI_Test(&w->ring[w->head], &done, &st);
	if (rc != MPI_SUCCESS || !done) {
		return rc;
	}
	MPI_Get_count(&st, MPI_BYTE, &w->bytes);
	w->from = st.MPI_SOURCE;
	w->frame = w->frames + (size_t)w->head * EVB_FRAME;
	return MPI_SUCCESS;
}

// evb_next gives the place of the frame to another one. Receives match in the
// order in which they were posted, so that the oldest is always the next.
int evb_next(evb_world *w) {
	int i = w->head;
	w->head = (i + 1) % EVB_RING;
	return listen_at(w, i);
}

// evb_say sends a frame of a head and a body, which it copies.
int evb_say(evb_world *w, int rank, void *head, int hn, void *body, int bn) {
	evb_out *o = malloc(sizeof *o + hn + bn);
	if (o == NULL) {
		return MPI_ERR_NO_MEM;
	}
	memcpy(o->bytes, head, hn);
	if (bn > 0) {
		memcpy(o->bytes + hn, body, bn);
	}
	int rc = MPI_Isend(o->bytes, hn + bn, MPI_BYTE, rank, 0, w->control, &o->req);
	if (rc != MPI_SUCCESS) {
		free(o);
		return rc;
	}
	o->next = w->outs;
	w->outs = o;
	return MPI_SUCCESS;
}

// part has each two ranks hear from each other, more than once, so that both have done with
// connecting: libraries that connect beside messages (UCX) may wait in MPI_Finalize for a rank that is
// no longer there.
static int part(evb_world *w) {
	if (w->parting == NULL && (w->parting = malloc(2 * w->size * sizeof *w->parting)) == NULL) {
		return MPI_ERR_NO_MEM;
	}
	w->parted++;
	int rc = MPI_SUCCESS;
	for (int i = 0; i < w->size && rc == MPI_SUCCESS; i++) {
		if ((rc = MPI_Irecv(NULL, 0, MPI_BYTE, i, 1, w->control, &w->parting[2 * i])) == MPI_SUCCESS) {
			rc = MPI_Issend(NULL, 0, MPI_BYTE, i, 1, w->control, &w->parting[2 * i + 1]);
		}
	}
	return rc;
}

// evb_leave goes on with leaving: gone is set when all ranks leave and have
// nothing under way any more.
int evb_leave(evb_world *w, int *gone) {
	int done = w->parted == 0, rc = MPI_SUCCESS;
	*gone = 0;
	if (flushed(w) > 0) {
		return MPI_SUCCESS;
	}
	if (!done && (rc = MPI_Testall(2 * w->size, w->parting, &done, MPI_STATUSES_IGNORE)) != MPI_SUCCESS) {
		return rc;
	}
	if (done && w->parted < EVB_PARTINGS) {
		return part(w);
	}
	if (done && w->leaving == MPI_REQUEST_NULL) {
		rc = MPI_Ibarrier(w->control, &w->leaving);
	}
	return rc != MPI_SUCCESS || !done ? rc : MPI_Test(&w->leaving, gone, MPI_STATUS_IGNORE);
}

void evb_world_close(evb_world *w) {
	for (int i = 0; i < EVB_RING; i++) {
		int done;
		MPI_Cancel(&w->ring[i]);
		MPI_Test(&w->ring[i], &done, MPI_STATUS_IGNORE);
	}
	free(w->frames);
	free(w->parting);
}

void evb_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }
