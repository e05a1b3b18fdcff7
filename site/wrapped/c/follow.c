#include "device.h"
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

/* order fills in the ranks in the order in which they take places: where hosts have several
 * adapters that of the world, all of which is there, by which ranks were given adapters. */
static void order(const struct row *r, const struct plan *p, int *ranks)
{
	for (int rank = 0; rank < r->size; rank++)
		ranks[p->several ? r->world[rank] : rank] = rank;
}

/* place returns the first free place of a rank on a server and the next ones of its host, or -1. */
static int place(const struct plan *p, int server, const int *rank_of)
{
	for (; server >= 0; server = p->server[server].next)
		for (int slot = 0; slot < p->server[server].slots; slot++)
			if (rank_of[server * p->slots + slot] < 0)
				return server * p->slots + slot;
	return -1;
}

/* on returns how many ranks the plan has on the host of a server. */
static int on(const struct plan *p, int server)
{
	int n = 0;
	for (int i = p->server[server].first; i >= 0; i = p->server[i].next)
		n += p->server[i].slots;
	return n;
}

/* places fills in which rank is where, server * slots + slot; -1 where none is. */
static int places(struct state *s, MPI_Comm comm, const struct plan *p, int *rank_of, int *own)
{
	char name[MPI_MAX_PROCESSOR_NAME] = {0}, *names = malloc((size_t)s->row.size * MPI_MAX_PROCESSOR_NAME);
	int n, *ranks = malloc(s->row.size * sizeof *ranks), err = names && ranks ? 0 : -1;
	if (!agreed(comm, !err)) {
		free(names);
		free(ranks);
		return snprintf(s->why, PLAN_WHY, "no memory"), -1;
	}
	PMPI_Get_processor_name(name, &n);
	PMPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, comm);
	for (int i = 0; i < p->servers * p->slots; i++)
		rank_of[i] = -1;
	order(&s->row, p, ranks);
	for (int i = 0; !err && i < s->row.size; i++) {
		char *host = names + (size_t)ranks[i] * MPI_MAX_PROCESSOR_NAME;
		int server = p->by_line ? plan_at(p, i) : p->server[0].name[0] ? plan_find(p, host) : ranks[i], at;
		if (server < 0)
			err = snprintf(s->why, PLAN_WHY, "the plan has no host %.60s", host);
		else if ((at = place(p, server, rank_of)) < 0)
			err = snprintf(s->why, PLAN_WHY, "%.60s has more ranks than the plan's %d", host, on(p, server));
		else
			rank_of[at] = ranks[i];
		if (!err && ranks[i] == s->row.rank)
			*own = at;
	}
	free(names);
	free(ranks);
	return err;
}

/* neighbours fills in with whom this rank exchanges on its host: step i goes i ranks further. */
static void neighbours(struct row *r, const struct plan *p, const int *rank_of, int own)
{
	int server = own / p->slots, me = p->server[server].nth + own % p->slots, n = 0, all = on(p, server);
	for (int i = p->server[server].first; i >= 0; i = p->server[i].next)
		for (int slot = 0; slot < p->server[i].slots; slot++) {
			int further = (n++ - me + all) % all;
			if (further > 0) {
				r->near_to[further - 1] = rank_of[i * p->slots + slot];
				r->near_from[all - further - 1] = rank_of[i * p->slots + slot];
			}
		}
	r->beside = all - 1;
}

/* partners fills in the row of this rank. In a phase each rank on a host sends to each rank on
 * another, in as many steps; step i goes to the rank i slots further. What the plan has for adapters
 * of one host is sent to neighbours, before the first phase. */
static int partners(struct state *s, const struct plan *p, const int *rank_of, int own)
{
	struct row *r = &s->row;
	int server = own / p->slots, slot = own % p->slots, k = p->slots, here = on(p, server);
	int *to = malloc((p->phases + 1) * sizeof *to), *from = malloc((p->phases + 1) * sizeof *from);
	r->phases = p->phases;
	r->steps = k;
	r->most = here > k ? here : k;
	size_t steps = (size_t)p->phases * k;
	r->to = malloc((steps + 1) * sizeof *r->to);
	r->from = malloc((steps + 1) * sizeof *r->from);
	r->near_to = malloc(here * sizeof *r->near_to);
	r->near_from = malloc(here * sizeof *r->near_from);
	r->requests = malloc(((size_t)r->most + r->size) * sizeof *r->requests);
	r->statuses = malloc(((size_t)r->most + r->size) * sizeof *r->statuses);
	int err = to && from && r->to && r->from && r->near_to && r->near_from && r->requests && r->statuses ? 0 : snprintf(s->why, PLAN_WHY, "no memory");
	if (!err)
		err = plan_row(p, server, to, from, s->why);
	if (!err && p->several && device_rank() >= 0 && device_rank() != p->server[server].nth)
		err = snprintf(s->why, PLAN_WHY, "rank %d uses adapter %d of its host, the plan's is %d", s->row.rank, device_rank(), p->server[server].nth);
	for (size_t i = 0; !err && i < steps; i++) {
		int phase = i / k, further = i % k;
		r->to[i] = plan_apart(p, server, to[phase]) ? rank_of[to[phase] * k + (slot + further) % k] : -1;
		r->from[i] = plan_apart(p, server, from[phase]) ? rank_of[from[phase] * k + (slot + k - further) % k] : -1;
	}
	if (!err)
		neighbours(r, p, rank_of, own);
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

/* fits_job reports whether a plan is for the ranks of a communicator, by their number. */
static int fits_job(struct state *s, const struct plan *p)
{
	if (p->ranks == s->row.size && (!p->several || p->ranks == world.size))
		return 1;
	s->refused = s->row.size == world.size;
	if (p->ranks == s->row.size)
		snprintf(s->why, PLAN_WHY, "hosts have several adapters, and the communicator leaves out ranks");
	else
		snprintf(s->why, PLAN_WHY, "the communicator has %d ranks, the plan %d", s->row.size, p->ranks);
	return 0;
}

void follow(struct state *s, MPI_Comm comm)
{
	long long len;
	struct plan p;
	char *text = shared(s, comm, &len);
	int read = text && plan_read(&p, text, len, s->why) == 0;
	s->refused = !read;
	if (read && fits_job(s, &p)) { /* the same for all ranks until here: they read one text */
		int own = 0, *rank_of = malloc((size_t)p.servers * p.slots * sizeof *rank_of);
		if (!rank_of)
			PMPI_Abort(MPI_COMM_WORLD, 1);
		int err = places(s, comm, &p, rank_of, &own);
		if (!err)
			s->planned = agreed(comm, partners(s, &p, rank_of, own) == 0);
		s->refused = !s->planned;
		if (!err && !s->planned && !s->why[0])
			snprintf(s->why, PLAN_WHY, "another rank cannot follow the plan");
		if (s->planned && !linked(&s->row)) {
			s->planned = 0;
			snprintf(s->why, PLAN_WHY, "all ranks share memory and use no link (with EVBENCH_ALWAYS=1 they follow the plan)");
		}
		free(rank_of);
	}
	if (read)
		plan_free(&p);
	free(text);
}
