/*
 * All-to-all in C over MPI: what evbench is compared with.
 *
 *   alltoall MODE SIZE ROUNDS WARMUP BATCH CHECK
 *
 * In one exchange every rank sends SIZE bytes to every other rank and receives
 * as many from each. MODE says how:
 *
 *   isend     all receives and sends of BATCH exchanges at once, then Waitall
 *   barrier   nothing but MPI_Barrier
 *
 * Every fragment lands in the buffer of its event, and every rank has a fragment
 * of its own for each destination. ROUNDS exchanges (or barriers) are timed, after
 * WARMUP that are not. The time is that of the slowest rank, each by its own clock.
 * CHECK is 1 to look at every byte received, or 0.
 *
 * Rank 0 prints one line of key=value pairs.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job {
	int rank, n, size, batch, check;
	char *out, *in; /* [batch][rank][size] */
	MPI_Request *req;
};

static void fail(const char *what)
{
	fprintf(stderr, "alltoall: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *need(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);
	if (!p)
		fail("out of memory");
	return p;
}

static char *place(const struct job *j, char *block, int slot, int rank)
{
	return block + ((size_t)slot * j->n + rank) * j->size;
}

/* byte i of the fragment that src has for dst */
static unsigned char pattern(int src, int dst, int i)
{
	uint32_t x = (uint32_t)src * 2654435761u ^ (uint32_t)dst * 40503u ^ (uint32_t)i * 2246822519u;
	return x >> 24;
}

static void fill(struct job *j)
{
	for (int s = 0; s < j->batch; s++)
		for (int r = 0; r < j->n; r++) {
			char *p = place(j, j->out, s, r);
			for (int i = 0; i < j->size; i++)
				p[i] = pattern(j->rank, r, i);
		}
	/* touched, so that no page is first seen while the clock runs */
	memset(j->in, 0, (size_t)j->batch * j->n * j->size);
}

/* Looks at what has come from all others and wipes it out. */
static void verify(struct job *j)
{
	for (int s = 0; s < j->batch; s++)
		for (int r = 0; r < j->n; r++) {
			char *p = place(j, j->in, s, r);
			for (int i = 0; r != j->rank && i < j->size; i++)
				if ((unsigned char)p[i] != pattern(r, j->rank, i))
					fail("a byte differs from what was sent");
			memset(p, 0, j->size);
		}
}

static void isend(struct job *j, int exchanges)
{
	int k = 0;
	for (int s = 0; s < exchanges; s++)
		for (int d = 1; d < j->n; d++) {
			int from = (j->rank + j->n - d) % j->n;
			MPI_Irecv(place(j, j->in, s, from), j->size, MPI_BYTE, from, s, MPI_COMM_WORLD, &j->req[k++]);
		}
	for (int s = 0; s < exchanges; s++)
		for (int d = 1; d < j->n; d++) {
			int to = (j->rank + d) % j->n;
			MPI_Isend(place(j, j->out, s, to), j->size, MPI_BYTE, to, s, MPI_COMM_WORLD, &j->req[k++]);
		}
	MPI_Waitall(k, j->req, MPI_STATUSES_IGNORE);
}

/* Does up to max exchanges at once and returns how many it has done. */
static int step(struct job *j, int max)
{
	int did = max < j->batch ? max : j->batch;
	isend(j, did);
	if (j->check)
		verify(j);
	return did;
}

static void exchange(struct job *j, int rounds, int warmup)
{
	size_t bytes = (size_t)j->batch * j->n * j->size;
	j->out = need(bytes);
	j->in = need(bytes);
	j->req = need(sizeof *j->req * 2 * j->batch * j->n);
	fill(j);
	for (int i = 0; i < warmup;)
		i += step(j, warmup - i);
	MPI_Barrier(MPI_COMM_WORLD);
	double began = now(), took, slowest;
	for (int i = 0; i < rounds;)
		i += step(j, rounds - i);
	took = now() - began;
	MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (j->rank == 0)
		printf("mode=isend n=%d size=%d rounds=%d seconds=%.9f\n", j->n, j->size, rounds, slowest);
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/*
 * A barrier's time is from the last exit of the one before to its own last
 * exit: the clock of a single rank lies when that rank is not running.
 */
static void barrier(struct job *j, int rounds, int warmup)
{
	double *exits = need(sizeof *exits * (rounds + 1)), *last = need(sizeof *last * (rounds + 1));
	for (int i = 0; i < warmup; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i <= rounds; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		exits[i] = now();
	}
	MPI_Reduce(exits, last, rounds + 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (j->rank != 0)
		return;
	double seconds = last[rounds] - last[0];
	for (int i = 0; i < rounds; i++)
		last[i] = last[i + 1] - last[i];
	qsort(last, rounds, sizeof *last, rising);
	printf("mode=barrier n=%d rounds=%d seconds=%.9f median_us=%.3f\n", j->n, rounds, seconds, 1e6 * last[rounds / 2]);
}

int main(int argc, char **argv)
{
	struct job j = {0};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &j.n);
	if (argc != 7)
		fail("usage: alltoall MODE SIZE ROUNDS WARMUP BATCH CHECK");
	j.size = atoi(argv[2]);
	int rounds = atoi(argv[3]), warmup = atoi(argv[4]);
	j.batch = atoi(argv[5]);
	j.check = atoi(argv[6]);
	if (j.size < 0 || rounds < 1 || warmup < 0 || j.batch < 1)
		fail("SIZE and WARMUP are 0 or more, ROUNDS and BATCH 1 or more");
	if (j.check && (rounds % j.batch || warmup % j.batch))
		fail("with CHECK, ROUNDS and WARMUP are multiples of BATCH");
	if (!strcmp(argv[1], "barrier"))
		barrier(&j, rounds, warmup);
	else if (!strcmp(argv[1], "isend"))
		exchange(&j, rounds, warmup);
	else
		fail("MODE is isend or barrier");
	return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
