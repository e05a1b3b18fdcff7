#include "record.h"
#include "world.h"

#include <stdlib.h>

enum { MOST = 1 << 16 }; /* calls that are kept of a communicator */

void record_add(struct record *r, enum call_kind kind, int planned, double seconds, long long bytes)
{
	if (r->n == r->room && r->room < MOST) {
		int room = r->room ? 2 * r->room : 16;
		struct call *c = realloc(r->call, room * sizeof *c);
		if (c) {
			r->call = c;
			r->room = room;
		}
	}
	if (r->n < r->room)
		r->call[r->n++] = (struct call){seconds, seconds, bytes, kind, planned};
	else
		r->more++;
}

/* take adds what another rank has. It has fewer calls only where its memory was short. */
static void take(struct record *r, const struct row *row, int rank)
{
	int n;
	PMPI_Recv(&n, 1, MPI_INT, row->world[rank], row->tag, world.comm, MPI_STATUS_IGNORE);
	struct call *c = malloc(((size_t)n + 1) * sizeof *c);
	if (!c)
		PMPI_Abort(MPI_COMM_WORLD, 1); /* others wait for it */
	PMPI_Recv(c, n * sizeof *c, MPI_BYTE, row->world[rank], row->tag, world.comm, MPI_STATUS_IGNORE);
	for (int i = 0; i < n && i < r->n; i++) {
		struct call *to = &r->call[i];
		to->least = c[i].least < to->least ? c[i].least : to->least;
		to->most = c[i].most > to->most ? c[i].most : to->most;
		to->bytes = c[i].bytes > to->bytes ? c[i].bytes : to->bytes;
	}
	if (r->n > n) {
		r->more += r->n - n;
		r->n = n;
	}
	free(c);
}

void record_merge(struct record *r, const struct row *row)
{
	for (int bit = 1; bit < row->size; bit *= 2) {
		if (row->rank & bit) {
			PMPI_Send(&r->n, 1, MPI_INT, row->world[row->rank - bit], row->tag, world.comm);
			PMPI_Send(r->call, r->n * sizeof *r->call, MPI_BYTE, row->world[row->rank - bit], row->tag, world.comm);
			return;
		}
		if (row->rank + bit < row->size)
			take(r, row, row->rank + bit);
	}
}

void record_print(const struct record *r, int ranks, FILE *f)
{
	static const char *const kinds[] = {"alltoall", "alltoallv"};
	for (const struct call *c = r->call; c < r->call + r->n; c++)
		fprintf(f, "%s %s %d %lld %.9f %.9f\n", kinds[c->kind], c->planned ? "plan" : "own", ranks, c->bytes, c->least, c->most);
	if (r->more)
		fprintf(f, "more %lld\n", r->more);
}
