#include "state.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* agreed reports whether something holds for all ranks. */
static int agreed(MPI_Comm comm, int holds)
{
	PMPI_Allreduce(MPI_IN_PLACE, &holds, 1, MPI_INT, MPI_MIN, comm);
	return holds;
}

/* text_of reads a file; NULL: why says why not. */
static char *text_of(const char *name, long long *len, char *why)
{
	FILE *f = name ? fopen(name, "rb") : NULL;
	char *text = NULL;
	if (f && !fseek(f, 0, SEEK_END) && (*len = ftell(f)) >= 0 && *len < 1 << 30 && !fseek(f, 0, SEEK_SET) && (text = malloc(*len + 1)) &&
		fread(text, 1, *len, f) != (size_t)*len) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	if (!text)
		snprintf(why, PLAN_WHY, "%.150s cannot be read", name ? name : "EVBENCH_PLAN");
	return text;
}

/* shared returns the text of the plan that rank 0 reads, for all ranks; NULL where there is none. */
static char *shared(struct state *s, MPI_Comm comm, long long *len)
{
	char *text = NULL;
	*len = -1;
	if (s->row.rank == 0 && !(text = text_of(file_of("EVBENCH_PLAN"), len, s->why)))
		*len = -1;
	PMPI_Bcast(len, 1, MPI_LONG_LONG, 0, comm);
	if (*len < 0) {
		PMPI_Bcast(s->why, PLAN_WHY, MPI_CHAR, 0, comm);
		return NULL;
	}
	if (!text && !(text = malloc(*len + 1)))
		PMPI_Abort(MPI_COMM_WORLD, 1); /* the others wait for it */
	PMPI_Bcast(text, (int)*len, MPI_CHAR, 0, comm);
	return text;
}

/* places fills in which rank is where, server * slots + slot; -1 where none is. */
static int places(struct state *s, MPI_Comm comm, const struct plan *p, int *rank_of, int *own)
{
	char name[MPI_MAX_PROCESSOR_NAME] = {0}, *names = malloc((size_t)s->row.size * MPI_MAX_PROCESSOR_NAME);
	int n, err = names ? 0 : -1;
	if (!agreed(comm, !err)) {
		free(names);
		return snprintf(s->why, PLAN_WHY, "no memory"), -1;
	}
	PMPI_Get_processor_name(name, &n);
	PMPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, comm);
	for (int i = 0; i < p->servers * p->slots; i++)
		rank_of[i] = -1;
	for (int rank = 0; !err && rank < s->row.size; rank++) {
		char *host = names + (size_t)rank * MPI_MAX_PROCESSOR_NAME;
		int server = p->server[0].name[0] ? plan_find(p, host) : rank, slot = 0;
		if (server < 0) {
			err = snprintf(s->why, PLAN_WHY, "the plan has no host %.60s", host);
			break;
		}
		while (slot < p->server[server].slots && rank_of[server * p->slots + slot] >= 0)
			slot++;
		if (slot == p->server[server].slots)
			err = snprintf(s->why, PLAN_WHY, "%.60s has more ranks than the plan's %d", host, slot);
		else
			rank_of[server * p->slots + slot] = rank;
		if (!err && rank == s->row.rank)
			*own = server * p->slots + slot;
	}
	free(names);
	return err;
}

/* partners fills in the row of this rank. In a phase each rank on a host sends to each rank on
 * another, in as many steps; step i goes to the rank i slots further. */
static int partners(struct state *s, const struct plan *p, const int *rank_of, int own)
{
	struct row *r = &s->row;
	int server = own / p->slots, slot = own % p->slots, k = p->slots;
	int *to = malloc((p->phases + 1) * sizeof *to), *from = malloc((p->phases + 1) * sizeof *from);
	r->phases = p->phases;
	r->steps = k;
	size_t steps = (size_t)p->phases * k;
	r->to = malloc((steps + 1) * sizeof *r->to);
	r->from = malloc((steps + 1) * sizeof *r->from);
	r->near_to = malloc(k * sizeof *r->near_to);
	r->near_from = malloc(k * sizeof *r->near_from);
	r->requests = malloc(((size_t)k + r->size) * sizeof *r->requests);
	r->statuses = malloc(((size_t)k + r->size) * sizeof *r->statuses);
	int err = to && from && r->to && r->from && r->near_to && r->near_from && r->requests && r->statuses ? 0 : snprintf(s->why, PLAN_WHY, "no memory");
	if (!err)
		err = plan_row(p, server, to, from, s->why);
	for (size_t i = 0; !err && i < steps; i++) {
		int phase = i / k, further = i % k;
		r->to[i] = to[phase] < 0 ? -1 : rank_of[to[phase] * k + (slot + further) % k];
		r->from[i] = from[phase] < 0 ? -1 : rank_of[from[phase] * k + (slot + k - further) % k];
	}
	for (int i = 1; !err && i < k; i++) {
		r->near_to[r->beside] = rank_of[server * k + (slot + i) % k];
		r->near_from[r->beside++] = rank_of[server * k + (slot + k - i) % k];
	}
	free(to);
	free(from);
	return err;
}

/* linked reports whether ranks exchange over links at all, or all share memory: then they wait
 * for each other in phases for nothing. */
static int linked(const struct row *r)
{
	for (int i = 1; i < r->size; i++)
		if (world.node[r->world[i]] != world.node[r->world[0]])
			return 1;
	return world.always;
}

void follow(struct state *s, MPI_Comm comm)
{
	long long len;
	struct plan p;
	char *text = shared(s, comm, &len);
	if (!text)
		return;
	int err = plan_read(&p, text, len, s->why);
	if (!err && p.ranks != s->row.size) {
		snprintf(s->why, PLAN_WHY, "the communicator has %d ranks, the plan %d", s->row.size, p.ranks);
		plan_free(&p);
		err = -1;
	}
	if (!err) { /* the same for all ranks until here: they read one text */
		int own = 0, *rank_of = malloc((size_t)p.servers * p.slots * sizeof *rank_of);
		if (!rank_of)
			PMPI_Abort(MPI_COMM_WORLD, 1);
		err = places(s, comm, &p, rank_of, &own);
		if (!err)
			s->planned = agreed(comm, partners(s, &p, rank_of, own) == 0);
		if (!err && !s->planned && !s->why[0])
			snprintf(s->why, PLAN_WHY, "another rank cannot follow the plan");
		if (s->planned && !linked(&s->row)) {
			s->planned = 0;
			snprintf(s->why, PLAN_WHY, "all ranks share memory and use no link (with EVBENCH_ALWAYS=1 they follow the plan)");
		}
		free(rank_of);
		plan_free(&p);
	}
	free(text);
}
