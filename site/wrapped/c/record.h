/* What calls took, for the file that EVBENCH_TIMES names. */
#ifndef EVBENCH_RECORD_H
#define EVBENCH_RECORD_H

#include "exchange.h"

#include <stdio.h>

#pragma GCC visibility push(hidden)

enum call_kind { CALL_ALLTOALL, CALL_ALLTOALLV };

struct call {
	double least, most; /* seconds: of this rank, then over ranks */
	long long bytes;    /* that this rank sent to all others, then that the one with the most sent */
	int kind, planned;
};

struct record {
	struct call *call;
	int n, room;
	long long more; /* calls that were not kept */
};

void record_add(struct record *r, enum call_kind kind, int planned, double seconds, long long bytes);

/* record_merge is called by all ranks of a row; rank 0 then has what holds over all. */
void record_merge(struct record *r, const struct row *row);

/* record_print writes a line "kind plan|own ranks bytes seconds_min seconds_max" a call. */
void record_print(const struct record *r, int ranks, FILE *f);

#pragma GCC visibility pop
#endif
