/* What is known of a communicator, and of all that a rank has met. */
#ifndef EVBENCH_STATE_H
#define EVBENCH_STATE_H

#include "exchange.h"
#include "plan.h"
#include "record.h"

#pragma GCC visibility push(hidden)

enum cause { UNPLANNED, IN_PLACE, SMALL, CAUSES };

struct state {
	struct row row;
	int planned;
	char why[PLAN_WHY]; /* what the plan is not for */
	int refused;        /* the plan is wrong, or not for this job */
	long long left[CAUSES];
	int kept;          /* its times are, after it is freed, too */
	int first, number; /* its rank 0 in the world, and which of its communicators it is: together no other's */
	struct record record;
	struct state *next;
};

/* follow finds out whether a communicator can follow the plan; all its ranks come to the same. */
void follow(struct state *s, MPI_Comm comm);

/* states_claim returns a number for a communicator of which this is rank 0, -1: there is none;
 * and whether there is room for its times. states_add has it in the list that MPI_Finalize goes through. */
int states_claim(int first, int *room);
void states_add(struct state *s);

/* states_other counts a call that libevbench does not follow, once for a communicator. */
void states_other(const char *call, MPI_Comm comm);

/* states_nonblocking counts a call of MPI_Ialltoall. */
void states_nonblocking(void);

/* ready is called by all that initialise MPI. */
void ready(void);

#pragma GCC visibility pop
#endif
