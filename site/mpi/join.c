//go:build mpi

// How the ranks of a group make a communicator of their own. Making one blocks
// until all are there, so they first tell the first of them that they are about
// to, and it tells them to go on.

#include "engine.h"

#include <stdlib.h>

static const uint64_t fresh = UINT64_MAX;

// evb_join_open begins. State is what the rank has done with the communicator
// that an earlier group of the same ranks had: if it is the same for all, and
// not UINT64_MAX, they take that again.
evb_join *evb_join_open(evb_world *w, uint32_t id, int rank, int n, int *world, uint64_t state) {
	evb_join *j = calloc(1, sizeof *j);
	int rc = MPI_SUCCESS;
	j->w = w, j->rank = rank, j->n = n, j->state = state;
	j->tag = (int)(id % (uint32_t)w->ids) * EVB_TAGS;
	j->world = malloc(n * sizeof *j->world);
	j->reqs = malloc(n * sizeof *j->reqs);
	j->words = calloc(n + 1, sizeof *j->words);
	j->words[0] = state;
	for (int i = 0; i < n; i++) {
		j->world[i] = world[i];
		j->reqs[i] = MPI_REQUEST_NULL;
	}
	if (rank == 0) {
		for (int i = 1; i < n && rc == MPI_SUCCESS; i++) {
			rc = MPI_Irecv(&j->words[i], 1, MPI_UINT64_T, world[i], j->tag + EVB_TAG_HERE, w->data, &j->reqs[i]);
		}
	} else {
		rc = MPI_Isend(&j->words[0], 1, MPI_UINT64_T, world[0], j->tag + EVB_TAG_HERE, w->data, &j->reqs[0]);
		if (rc == MPI_SUCCESS) {
			rc = MPI_Irecv(&j->words[1], 1, MPI_UINT64_T, world[0], j->tag + EVB_TAG_GO, w->data, &j->reqs[1]);
		}
	}
	if (rc != MPI_SUCCESS) {
		evb_join_close(j);
		return NULL;
	}
	return j;
}

// go tells the others whether to take the old communicator.
static int go(evb_join *j) {
	for (int i = 1; i < j->n; i++) {
		if (j->words[i] != j->state) {
			j->state = fresh;
		}
	}
	j->words[0] = j->state;
	j->going = 1;
	for (int i = 1; i < j->n; i++) {
		int rc = MPI_Isend(&j->words[0], 1, MPI_UINT64_T, j->world[i], j->tag + EVB_TAG_GO, j->w->data, &j->reqs[i]);
		if (rc != MPI_SUCCESS) {
			return rc;
		}
	}
	return MPI_SUCCESS;
}

// create makes the communicator; all ranks are here or about to be.
static int create(evb_join *j, MPI_Comm *c) {
	MPI_Group all, ours;
	MPI_Comm_group(j->w->data, &all);
	MPI_Group_incl(all, j->n, j->world, &ours);
	int rc = MPI_Comm_create_group(j->w->data, ours, j->tag + EVB_TAG_GO, c);
	if (rc == MPI_SUCCESS) {
		MPI_Comm_set_errhandler(*c, MPI_ERRORS_RETURN);
	}
	MPI_Group_free(&ours);
	MPI_Group_free(&all);
	return rc;
}

// evb_join_step goes on. Done is 0, or EVB_OLD, or EVB_NEW: then c is the new
// communicator.
int evb_join_step(evb_join *j, int *done, MPI_Comm *c) {
	*done = 0;
	for (;;) {
		int all = 0;
		int rc = MPI_Testall(j->n, j->reqs, &all, MPI_STATUSES_IGNORE);
		if (rc != MPI_SUCCESS || !all) {
			return rc;
		}
		if (j->rank != 0 || j->going) {
			break;
		}
		if ((rc = go(j)) != MPI_SUCCESS) {
			return rc;
		}
	}
	int old = j->words[j->rank == 0 ? 0 : 1] != fresh;
	*done = old ? EVB_OLD : EVB_NEW;
	return old ? MPI_SUCCESS : create(j, c);
}

// evb_join_close forgets it.
void evb_join_close(evb_join *j) {
	for (int i = 0; i < j->n; i++) {
		int done;
		if (j->reqs[i] != MPI_REQUEST_NULL) {
			MPI_Cancel(&j->reqs[i]);
			MPI_Test(&j->reqs[i], &done, MPI_STATUS_IGNORE);
		}
	}
	free(j->world);
	free(j->reqs);
	free(j->words);
	free(j);
}
