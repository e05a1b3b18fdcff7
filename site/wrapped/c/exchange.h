/* The exchange of a communicator in the order of a plan. */
#ifndef EVBENCH_EXCHANGE_H
#define EVBENCH_EXCHANGE_H

#include <mpi.h>
#include <stddef.h>

#pragma GCC visibility push(hidden) /* programs may have functions of these names */

/* What one side of an all-to-all gives or takes: a block for each rank. */
struct side {
	char *buf;
	const int *counts, *displs;
	const MPI_Count *counts_c; /* of calls with large counts, which have these instead */
	const MPI_Aint *displs_c;
	MPI_Count count; /* of each, one block behind the other, where there are no counts */
	MPI_Datatype type;
};

static inline MPI_Count side_count(const struct side *s, int rank)
{
	return s->counts ? s->counts[rank] : s->counts_c ? s->counts_c[rank] : s->count;
}

/* A row is with whom this rank exchanges, in the order in which it does. */
struct row {
	int rank, size;
	int *world;        /* what ranks of the communicator are in world.comm, where all is sent */
	int tag;           /* and the one above it; no two communicators with the same two ranks have the same */
	int phases, steps; /* steps of a phase: ranks on a host */
	int *to, *from;    /* by phase and step; -1: nobody */
	int beside;        /* ranks on this host, others than this one */
	int *near_to, *near_from;
	int most;              /* messages received at once */
	MPI_Request *requests; /* of these, and one for each rank that is sent to */
	MPI_Status *statuses;  /* as many */
};

/* exchange does what MPI_Alltoallv does. Where a message is in error it does the rest all the
 * same, for which other ranks wait, and returns the first error. */
int exchange(struct row *r, const struct side *send, const struct side *recv);

#pragma GCC visibility pop

#endif
