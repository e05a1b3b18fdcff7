/* What calls took, for the file that EVBENCH_TIMES names. */
#ifndef EVBENCH_RECORD_H
#define EVBENCH_RECORD_H

#include <mpi.h>

enum call_kind { CALL_ALLTOALL, CALL_ALLTOALLV, CALL_IALLTOALL };

struct record {
	double *seconds;
	long long *bytes; /* that this rank sent to all others */
	char *what;       /* kind, and 4 where the plan was followed */
	int n, room;
	long long more; /* calls that were not kept */
};

void record_add(struct record *r, enum call_kind kind, int planned, double seconds, long long bytes);

/* record_write is called by all ranks of a communicator: its rank 0 appends a line
 * "kind planned ranks bytes seconds_min seconds_max" a call to the file, bytes as the rank
 * with the most sent. It frees the record. */
void record_write(struct record *r, MPI_Comm comm, const char *file);

#endif
