/* Why calls were left to the MPI, counted: what is said is one summary, however many
 * communicators there were. */
#ifndef EVBENCH_REASON_H
#define EVBENCH_REASON_H

#include "plan.h"

#include <stdio.h>

#pragma GCC visibility push(hidden)

enum { REASONS = 16 }; /* that differ; what comes after them is counted together */

struct reasons {
	int n;
	struct reason {
		char why[PLAN_WHY];
		long long calls, comms;
		int refused; /* the plan is wrong, or not for this job */
	} of[REASONS];
};

/* say writes a line for people to stderr, whatever is in the names in it. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

void reasons_add(struct reasons *r, const char *said, long long calls, long long comms, int refused);

/* reasons_write writes a line "left|refused CALLS COMMUNICATORS WHY" each. */
void reasons_write(const struct reasons *r, FILE *f);

/* reasons_read adds such a line, and returns 0; -1: it is another. */
int reasons_read(struct reasons *r, const char *line);

/* reasons_say says it to people. */
void reasons_say(const struct reasons *r);

/* reasons_refused writes a line "refused WHY" for each refusal. */
void reasons_refused(const struct reasons *r, FILE *f);

#pragma GCC visibility pop
#endif
