/* Legal programs, a case each, that hang or differ where a library between them and MPI waits
 * for other ranks, or exchanges anything, in calls that may not; or copies what is theirs.
 * Rank 0 prints what has to be the same with and without the library. */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 5 };

static int rank, size, n = 2; /* numbers from each to each: 8 bytes, or more */

static int value(int from, int to, int salt) { return from * 1000 + to * 10 + salt; }

struct blocks { int *out, *in, salt; };

static struct blocks filled(int salt)
{
	struct blocks b = {malloc((size_t)size * n * sizeof(int)), malloc((size_t)size * n * sizeof(int)), salt};
	for (int i = 0; i < size * n; i++)
		b.out[i] = value(rank, i / n, salt);
	return b;
}

static void check(struct blocks *b)
{
	for (int i = 0; i < size * n; i++)
		if (b->in[i] != value(i / n, rank, b->salt)) {
			fprintf(stderr, "rank %d: block of rank %d is wrong\n", rank, i / n);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	free(b->out);
	free(b->in);
}

static void blocking(MPI_Comm comm, int salt)
{
	struct blocks b = filled(salt);
	MPI_Alltoall(b.out, n, MPI_INT, b.in, n, MPI_INT, comm);
	check(&b);
}

static void start(struct blocks *b, MPI_Comm comm, MPI_Request *request) { MPI_Ialltoall(b->out, n, MPI_INT, b->in, n, MPI_INT, comm, request); }

/* crossed starts on two communicators, odd ranks on the second first. */
static void crossed(void)
{
	MPI_Comm comm[2];
	MPI_Request request[2];
	struct blocks b[2] = {filled(0), filled(1)};
	for (int i = 0; i < 2; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
	for (int i = 0; i < 2; i++) {
		int k = (i + rank) % 2;
		start(&b[k], comm[k], &request[k]);
	}
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 2; i++) {
		check(&b[i]);
		MPI_Comm_free(&comm[i]);
	}
}

/* depends has rank 1 start only after a message that rank 0 sends after it has started. */
static void depends(void)
{
	MPI_Request request;
	struct blocks b = filled(2);
	int word = 0;
	if (rank == 1)
		MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	start(&b, MPI_COMM_WORLD, &request);
	if (rank == 0)
		MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check(&b);
}

static void *thread(void *comm)
{
	for (int i = 0; i < CALLS; i++)
		blocking(*(MPI_Comm *)comm, i);
	return NULL;
}

/* threads has two threads exchange, each on a communicator of its own. */
static void threads(int free_them)
{
	MPI_Comm comm[2];
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, thread, &comm[(i + rank) % 2]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; free_them && i < 2; i++)
		MPI_Comm_free(&comm[(i + rank) % 2]);
}

/* turns has one thread of odd ranks exchange on the second communicator, and only then on the
 * first, while the others have a thread in each: no rank waits for ever. */
static void turns(void)
{
	MPI_Comm comm[2];
	pthread_t t;
	for (int i = 0; i < 2; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
	if (rank % 2) {
		thread(&comm[1]);
		thread(&comm[0]);
	} else {
		pthread_create(&t, NULL, thread, &comm[0]);
		thread(&comm[1]);
		pthread_join(t, NULL);
	}
}

/* many makes communicators of all sizes; some are freed, in an order of each rank's own. */
static void many(void)
{
	MPI_Comm comm[12];
	int all = size;
	for (int i = 0; i < 12; i++) {
		MPI_Comm_split(MPI_COMM_WORLD, rank % (i % 3 + 1), rank, &comm[i]);
		MPI_Comm_size(comm[i], &size);
		MPI_Comm_rank(comm[i], &rank);
		blocking(comm[i], i);
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
		size = all;
	}
	for (int i = 0; i < 6; i++)
		MPI_Comm_free(&comm[rank % 2 ? i : 5 - i]);
}

static int copies, deletions, handled;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
	(void)comm, (void)key, (void)extra;
	copies++;
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int deletion(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm, (void)key, (void)value, (void)extra;
	deletions++;
	return MPI_SUCCESS;
}

/* attributes counts how often functions of the program are called. */
static void attributes(void)
{
	MPI_Comm comm;
	int key;
	MPI_Comm_create_keyval(copy, deletion, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &key);
	blocking(MPI_COMM_WORLD, 0);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	blocking(comm, 1);
	MPI_Comm_free(&comm);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
	MPI_Comm_free_keyval(&key);
	if (rank == 0)
		printf("copies %d deletions %d\n", copies, deletions);
}

static void handler(MPI_Comm *comm, int *err, ...)
{
	(void)comm, (void)err;
	handled++;
}

static void class(const char *what, int err)
{
	int c = 0, mine;
	MPI_Error_class(err, &c);
	for (int i = 0; i < size; i++) {
		mine = c;
		MPI_Bcast(&mine, 1, MPI_INT, i, MPI_COMM_WORLD);
		if (rank == 0)
			printf("%s rank %d class %d\n", what, i, mine);
	}
}

/* errors makes calls that MPI refuses; all come back, and right calls after them are done. */
static void errors(void)
{
	MPI_Comm comm;
	MPI_Errhandler h;
	MPI_Datatype raw;
	struct blocks b = filled(0);
	int *counts = malloc(size * sizeof *counts), *fewer = malloc(size * sizeof *fewer), *at = malloc(size * sizeof *at);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_create_errhandler(handler, &h);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
	MPI_Comm_set_errhandler(comm, h);
	MPI_Type_contiguous(1, MPI_INT, &raw); /* not committed */
	class("count", MPI_Alltoall(b.out, -1, MPI_INT, b.in, n, MPI_INT, comm));
	class("received count", MPI_Alltoall(b.out, n, MPI_INT, b.in, -1, MPI_INT, comm));
	class("no type", MPI_Alltoall(b.out, n, MPI_DATATYPE_NULL, b.in, n, MPI_INT, comm));
	class("no received type", MPI_Alltoall(b.out, n, MPI_INT, b.in, n, MPI_DATATYPE_NULL, comm));
	class("raw type", MPI_Alltoall(b.out, n, raw, b.in, n, MPI_INT, comm));
	class("received raw type", MPI_Alltoall(b.out, n, MPI_INT, b.in, n, raw, comm));
	class("no communicator", MPI_Alltoall(b.out, n, MPI_INT, b.in, n, MPI_INT, MPI_COMM_NULL));
	class("received in place", MPI_Alltoall(b.out, n, MPI_INT, MPI_IN_PLACE, n, MPI_INT, comm));
	class("sizes", MPI_Alltoall(b.out, n, MPI_INT, b.in, n - 1, MPI_INT, comm));
	/* a rank that is refused and calls again, rightly */
	if (rank == 1)
		MPI_Alltoall(b.out, -1, MPI_INT, b.in, n, MPI_INT, comm);
	class("again", MPI_Alltoall(b.out, n, MPI_INT, b.in, n, MPI_INT, comm));
	check(&b);
	b = filled(1);
	for (int i = 0; i < size; i++) {
		counts[i] = fewer[i] = n;
		at[i] = i * n;
	}
	class("no counts", MPI_Alltoallv(b.out, NULL, at, MPI_INT, b.in, counts, at, MPI_INT, comm));
	fewer[0] = -1;
	class("a count", MPI_Alltoallv(b.out, fewer, at, MPI_INT, b.in, counts, at, MPI_INT, comm));
	class("after it", MPI_Alltoallv(b.out, counts, at, MPI_INT, b.in, counts, at, MPI_INT, comm));
	check(&b);
	MPI_Type_free(&raw);
	for (int i = 0; i < size; i++) {
		int mine = handled;
		MPI_Bcast(&mine, 1, MPI_INT, i, MPI_COMM_WORLD);
		if (rank == 0)
			printf("rank %d handled %d\n", i, mine);
	}
	MPI_Comm_free(&comm);
	free(counts);
	free(fewer);
	free(at);
}

/* truncated has rank 2 room for a part of what rank 1 sends it: each rank has its answer, and a
 * call after that is right. Open MPI itself may wait for ever then. */
static void truncated(void)
{
	struct blocks b = filled(0);
	int *counts = malloc(size * sizeof *counts), *fewer = malloc(size * sizeof *fewer), *at = malloc(size * sizeof *at);
	for (int i = 0; i < size; i++) {
		counts[i] = fewer[i] = n;
		at[i] = i * n;
	}
	fewer[1] -= rank == 2;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	class("truncated", MPI_Alltoallv(b.out, counts, at, MPI_INT, b.in, fewer, at, MPI_INT, MPI_COMM_WORLD));
	class("after it", MPI_Alltoallv(b.out, counts, at, MPI_INT, b.in, counts, at, MPI_INT, MPI_COMM_WORLD));
	check(&b);
	free(counts);
	free(fewer);
	free(at);
}

static void done(const char *what)
{
	if (!strcmp(what, "crossed"))
		crossed();
	else if (!strcmp(what, "depends"))
		depends();
	else if (!strcmp(what, "threads"))
		threads(1);
	else if (!strcmp(what, "never freed"))
		threads(0);
	else if (!strcmp(what, "turns"))
		turns();
	else if (!strcmp(what, "many"))
		many();
	else if (!strcmp(what, "attributes"))
		attributes();
	else if (!strcmp(what, "errors"))
		errors();
	else if (!strcmp(what, "truncated"))
		truncated();
	if (rank == 0)
		puts("ok");
}

/* The number comes first, then cases. */
int main(int argc, char **argv)
{
	int provided;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 1)
		n = atoi(argv[1]);
	for (int i = 2; i < argc; i++)
		done(argv[i]);
	return MPI_Finalize();
}
