#define _GNU_SOURCE
#include "ports.h"
#include "reason.h"
#include "state.h"
#include "world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 4096 }; /* communicators of a rank whose calls are kept until MPI_Finalize */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows; never held while MPI is called */
static struct state *states;
static int numbers, kept;           /* communicators of which this is rank 0; whose times are kept */
static struct reasons reasons;      /* those of communicators of which this is rank 0 */
static long long nonblocking, more; /* calls of MPI_Ialltoall; calls not kept */

int states_claim(int first, int *room)
{
	pthread_mutex_lock(&lock);
	int number = first && numbers < world.tags ? numbers++ : -1;
	*room = world.times && kept < KEPT;
	pthread_mutex_unlock(&lock);
	return number;
}

void states_add(struct state *s)
{
	pthread_mutex_lock(&lock);
	kept += s->kept;
	s->next = states;
	states = s;
	pthread_mutex_unlock(&lock);
}

void states_nonblocking(void)
{
	pthread_mutex_lock(&lock);
	nonblocking++;
	pthread_mutex_unlock(&lock);
}

void states_other(const char *call, MPI_Comm comm)
{
	int rank = -1;
	char why[PLAN_WHY];
	if (!world.on || !world.plan || comm == MPI_COMM_NULL || comm == MPI_COMM_SELF)
		return;
	PMPI_Comm_rank(comm, &rank);
	snprintf(why, sizeof why, "%s is left to the MPI", call);
	pthread_mutex_lock(&lock);
	if (rank == 0)
		reasons_add(&reasons, why, 1, 0, 0);
	pthread_mutex_unlock(&lock);
}

/* settle counts what is left of a state that goes. */
static void settle(struct state *s)
{
	char small[PLAN_WHY];
	snprintf(small, sizeof small, "less than EVBENCH_MIN, %lld bytes to a rank", world.least);
	if (s->row.rank == 0 && world.plan) {
		reasons_add(&reasons, s->why, s->left[UNPLANNED], 1, s->refused);
		reasons_add(&reasons, "MPI_IN_PLACE", s->left[IN_PLACE], 1, 0);
		reasons_add(&reasons, small, s->left[SMALL], 1, 0);
	}
	if (s->row.rank == 0 && !s->kept)
		more += s->record.more;
	free(s->row.world);
	free(s->record.call);
	free(s);
}

/* shrink frees what only exchanges need. */
static void shrink(struct row *r)
{
	free(r->to);
	free(r->from);
	free(r->near_to);
	free(r->near_from);
	free(r->requests);
	free(r->statuses);
	r->to = r->from = r->near_to = r->near_from = NULL;
	r->requests = NULL;
	r->statuses = NULL;
}

/* forget is called when a communicator is freed: times that are kept wait for MPI_Finalize, as
 * ranks need not free communicators in one order. */
static void forget(struct state *s)
{
	pthread_mutex_lock(&lock);
	struct state **at = &states;
	while (*at && *at != s)
		at = &(*at)->next;
	if (*at) {
		shrink(&s->row);
		if (!s->kept) {
			*at = s->next;
			settle(s);
		}
	}
	pthread_mutex_unlock(&lock);
}

static int before(const void *a, const void *b)
{
	const struct state *s = *(struct state *const *)a, *t = *(struct state *const *)b;
	if (s->first != t->first)
		return s->first < t->first ? -1 : 1;
	return s->number < t->number ? -1 : s->number > t->number;
}

/* print writes what this rank knows, as rank 0 of communicators, after their ranks have told
 * each other: in an order of communicators that is the same for all ranks. */
static void print(FILE *f)
{
	int n = 0;
	for (struct state *s = states; s; s = s->next)
		n++;
	struct state **all = malloc((n + 1) * sizeof(struct state *));
	if (!all)
		PMPI_Abort(MPI_COMM_WORLD, 1);
	n = 0;
	for (struct state *s = states; s; s = s->next)
		all[n++] = s;
	states = NULL;
	qsort(all, n, sizeof *all, before);
	for (int i = 0; i < n; i++) {
		struct state *s = all[i];
		if (s->kept)
			record_merge(&s->record, &s->row);
		if (s->kept && s->row.rank == 0)
			record_print(&s->record, s->row.size, f);
		shrink(&s->row);
		settle(s);
	}
	if (more)
		fprintf(f, "more %lld\n", more);
	reasons_write(&reasons, f);
	ports_write(f);
	free(all);
}

/* publish is for rank 0 of the world: the times go to their file, and what was left is said. */
static void publish(char *text, FILE *times)
{
	static struct reasons all;
	if (text) {
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			if (reasons_read(&all, line) && ports_read(line) && times)
				fprintf(times, "%s\n", line);
		return;
	}
	reasons_say(&all);
	ports_say(times);
	if (times)
		reasons_refused(&all, times);
	if (world.plan && nonblocking)
		say("%lld call%s of MPI_Ialltoall not in the order of the plan: they may not wait for other ranks", nonblocking, nonblocking == 1 ? "" : "s");
	if (times && nonblocking)
		fprintf(times, "nonblocking %lld\n", nonblocking);
}

/* gather has rank 0 of the world publish the texts of all. */
static void gather(char *text, size_t len)
{
	long long n = len, *all = calloc(world.size, sizeof *all);
	const char *file = file_of("EVBENCH_TIMES");
	FILE *times = world.rank == 0 && world.times ? fopen(file, "a") : NULL;
	if (!all)
		PMPI_Abort(MPI_COMM_WORLD, 1);
	PMPI_Reduce(world.rank ? &nonblocking : MPI_IN_PLACE, &nonblocking, 1, MPI_LONG_LONG, MPI_MAX, 0, world.comm);
	PMPI_Gather(&n, 1, MPI_LONG_LONG, all, 1, MPI_LONG_LONG, 0, world.comm);
	if (world.rank)
		PMPI_Send(text, (int)n, MPI_CHAR, 0, 0, world.comm);
	for (int i = 0; world.rank == 0 && i < world.size; i++) {
		char *from = i ? malloc(all[i] + 1) : text;
		if (!from)
			PMPI_Abort(MPI_COMM_WORLD, 1);
		if (i)
			PMPI_Recv(from, (int)all[i], MPI_CHAR, i, 0, world.comm, MPI_STATUS_IGNORE);
		from[all[i]] = 0;
		publish(from, times);
		if (i)
			free(from);
	}
	if (world.rank == 0)
		publish(NULL, times);
	if (world.rank == 0 && world.times && (!times || fclose(times)))
		say("%s: the times cannot be written", file);
	free(all);
}

/* freed is called when a communicator goes; or MPI_COMM_SELF, in MPI_Finalize, by all ranks. */
static int freed(MPI_Comm comm, int keyval, void *value, void *extra)
{
	(void)comm, (void)keyval, (void)extra;
	char *text = NULL;
	size_t len = 0;
	if (value != &world) {
		forget(value);
		return MPI_SUCCESS;
	}
	if (world.on) {
		FILE *f = open_memstream(&text, &len);
		if (!f)
			PMPI_Abort(MPI_COMM_WORLD, 1);
		print(f);
		fclose(f);
		gather(text, len);
		free(text);
	}
	world_left();
	return MPI_SUCCESS;
}

void ready(void)
{
	if (world.key == MPI_KEYVAL_INVALID) /* an MPI_Init may call another */
		world_ready(freed);
}
