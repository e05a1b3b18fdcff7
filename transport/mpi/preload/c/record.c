#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 }; /* calls that are kept of a communicator */

void record_add(struct record *r, enum call_kind kind, int planned, double seconds, long long bytes)
{
	if (r->n == r->room && r->room < MOST) {
		int room = r->room ? 2 * r->room : 64;
		double *s = realloc(r->seconds, room * sizeof *s);
		if (s)
			r->seconds = s;
		long long *b = realloc(r->bytes, room * sizeof *b);
		if (b)
			r->bytes = b;
		char *w = realloc(r->what, room);
		if (w)
			r->what = w;
		if (s && b && w)
			r->room = room;
	}
	if (r->n == r->room) {
		r->more++;
		return;
	}
	r->seconds[r->n] = seconds;
	r->bytes[r->n] = bytes;
	r->what[r->n++] = (char)(kind | (planned ? 4 : 0));
}

void record_write(struct record *r, MPI_Comm comm, const char *file)
{
	static const char *const kinds[] = {"alltoall", "alltoallv", "ialltoall"};
	int rank, size, n = r->n;
	PMPI_Comm_rank(comm, &rank);
	PMPI_Comm_size(comm, &size);
	PMPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_MIN, comm); /* fewer only where memory was short */
	double *least = malloc((n + 1) * sizeof *least), *most = malloc((n + 1) * sizeof *most);
	long long *bytes = malloc((n + 1) * sizeof *bytes);
	int room = least && most && bytes;
	PMPI_Allreduce(MPI_IN_PLACE, &room, 1, MPI_INT, MPI_MIN, comm);
	if (room) {
		PMPI_Reduce(r->seconds, least, n, MPI_DOUBLE, MPI_MIN, 0, comm);
		PMPI_Reduce(r->seconds, most, n, MPI_DOUBLE, MPI_MAX, 0, comm);
		PMPI_Reduce(r->bytes, bytes, n, MPI_LONG_LONG, MPI_MAX, 0, comm);
	}
	FILE *f = room && rank == 0 ? fopen(file, "a") : NULL;
	if (f) {
		for (int i = 0; i < n; i++)
			fprintf(f, "%s %s %d %lld %.9f %.9f\n", kinds[r->what[i] & 3], r->what[i] & 4 ? "plan" : "own", size, bytes[i], least[i], most[i]);
		if (r->more)
			fprintf(f, "more %lld\n", r->more);
	}
	if (rank == 0 && n > 0 && (!f || fclose(f)))
		fprintf(stderr, "libevbench: %s: the times cannot be written\n", file);
	free(least);
	free(most);
	free(bytes);
	free(r->seconds);
	free(r->bytes);
	free(r->what);
	*r = (struct record){0};
}
