/* Exchanges of all kinds, each checked; rank 0 prints ok. With an argument N, each N ranks say
 * that they share a host, node0.cluster and so on: the library asks PMPI_Get_processor_name,
 * which is this program's. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mpi_init_thread_(MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_alltoall_(const void *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_alltoallv_(const void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);

static int rank, size, a_host;

int PMPI_Get_processor_name(char *name, int *len)
{
	if (a_host == 0)
		return MPI_Get_processor_name(name, len);
	*len = sprintf(name, "node%d.cluster", rank / a_host);
	return MPI_SUCCESS;
}

static void check(const char *what, int right)
{
	if (!right) {
		fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

enum { N = 1000 };

static int value(int from, int to, int i) { return from * 1000003 + to * 1009 + i; }

/* blocks sends N numbers from each to each; how: 0 MPI_Alltoall, 1 in place, 2 MPI_Ialltoall, 3 Fortran, 4 large counts. */
static void blocks(const char *what, MPI_Comm comm, int how)
{
	int me, n, right = 1;
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &n);
	int *out = malloc(n * N * sizeof *out), *in = malloc(n * N * sizeof *in);
	for (int i = 0; i < n * N; i++)
		out[i] = in[i] = value(me, i / N, i % N);
	if (how == 0)
		MPI_Alltoall(out, N, MPI_INT, in, N, MPI_INT, comm);
#if MPI_VERSION >= 4
	else if (how == 4)
		MPI_Alltoall_c(out, N, MPI_INT, in, N, MPI_INT, comm);
#endif
	else if (how == 1)
		MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, N, MPI_INT, comm);
	else if (how == 2) {
		MPI_Request request;
		MPI_Status status;
		MPI_Ialltoall(out, N, MPI_INT, in, N, MPI_INT, comm, &request);
		MPI_Wait(&request, &status);
		check("request", request == MPI_REQUEST_NULL);
	} else {
		MPI_Fint count = N, type = MPI_Type_c2f(MPI_INT), c = MPI_Comm_c2f(comm), err = -1;
		mpi_alltoall_(out, &count, &type, in, &count, &type, &c, &err);
		check("error code", err == 0);
	}
	for (int i = 0; i < n * N; i++)
		right &= in[i] == value(i / N, me, i % N);
	check(what, right);
	free(out);
	free(in);
}

/* types sends columns of a matrix and receives rows: blocks of the sender overlap. */
static void types(void)
{
	int *out = malloc(size * N * sizeof *out), *in = malloc(size * N * sizeof *in), right = 1;
	MPI_Datatype vector, column;
	MPI_Type_vector(N, 1, size, MPI_INT, &vector);
	MPI_Type_create_resized(vector, 0, sizeof(int), &column);
	MPI_Type_commit(&column);
	for (int i = 0; i < size * N; i++)
		out[i] = value(rank, i % size, i / size);
	MPI_Alltoall(out, 1, column, in, N, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size * N; i++)
		right &= in[i] == value(i / N, rank, i % N);
	check("derived type", right);
	MPI_Type_free(&column);
	MPI_Type_free(&vector);
	free(out);
	free(in);
}

/* unequal sends from + 2 * to numbers, none from rank 1 to others, with room between blocks. */
static int count_of(int from, int to) { return from == 1 && to != 1 ? 0 : from + 2 * to; }

static void unequal(int how)
{
	enum { ROOM = 100 };
	int out[64 * ROOM], in[64 * ROOM], n[64], m[64], at[64], right = 1;
	for (int k = 0; k < size; k++) {
		at[k] = (size - 1 - k) * ROOM;
		n[k] = count_of(rank, k);
		m[k] = count_of(k, rank);
		for (int i = 0; i < ROOM; i++) {
			out[at[k] + i] = value(rank, k, i);
			in[at[k] + i] = -1;
		}
	}
	if (how == 1) {
		MPI_Fint type = MPI_Type_c2f(MPI_INT), c = MPI_Comm_c2f(MPI_COMM_WORLD), err = -1;
		mpi_alltoallv_(out, n, at, &type, in, m, at, &type, &c, &err);
		check("error code", err == 0);
	}
#if MPI_VERSION >= 4
	else if (how == 2) {
		MPI_Count large_n[64], large_m[64];
		MPI_Aint far[64];
		for (int k = 0; k < size; k++) {
			large_n[k] = n[k];
			large_m[k] = m[k];
			far[k] = at[k];
		}
		MPI_Alltoallv_c(out, large_n, far, MPI_INT, in, large_m, far, MPI_INT, MPI_COMM_WORLD);
	}
#endif
	else
		MPI_Alltoallv(out, n, at, MPI_INT, in, m, at, MPI_INT, MPI_COMM_WORLD);
	for (int k = 0; k < size; k++)
		for (int i = 0; i < ROOM; i++)
			right &= in[at[k] + i] == (i < m[k] ? value(k, rank, i) : -1);
	check("unequal blocks", right);
}

#if MPI_VERSION >= 4
/* huge sends more elements than an int counts, of no size: EVBENCH_MIN=0 has them follow the plan. */
static void huge(void)
{
	MPI_Datatype none;
	char out = 0, in = 0;
	MPI_Type_contiguous(0, MPI_INT, &none);
	MPI_Type_commit(&none);
	check("error code of a huge count", MPI_Alltoall_c(&out, 3LL << 30, none, &in, 3LL << 30, none, MPI_COMM_WORLD) == MPI_SUCCESS);
	MPI_Type_free(&none);
}
#endif

/* others makes calls that libevbench names, but does not follow. */
static void others(void)
{
	int none[64] = {0}, in = 0;
	MPI_Datatype types[64];
	MPI_Request request;
	MPI_Status status;
	for (int k = 0; k < size; k++)
		types[k] = MPI_INT;
	MPI_Alltoallw(none, none, none, types, &in, none, none, types, MPI_COMM_WORLD);
	MPI_Ialltoallw(none, none, none, types, &in, none, none, types, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, &status);
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
	MPI_Alltoall_init(none, 0, MPI_INT, &in, 0, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	MPI_Wait(&request, &status);
	MPI_Request_free(&request);
#endif
#if MPI_VERSION >= 4
	MPI_Count large[64] = {0};
	MPI_Aint at[64] = {0};
	MPI_Alltoallw_c(none, large, at, types, &in, large, at, types, MPI_COMM_WORLD);
#endif
}

int main(int argc, char **argv)
{
	MPI_Fint multiple = MPI_THREAD_MULTIPLE, provided, err = -1;
	MPI_Comm reversed, half;
	mpi_init_thread_(&multiple, &provided, &err);
	check("error code of MPI_Init_thread", err == 0);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 1)
		a_host = atoi(argv[1]);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	blocks("world", MPI_COMM_WORLD, 0);
	blocks("reversed", reversed, 0);
	blocks("half", half, 0);
	blocks("self", MPI_COMM_SELF, 0);
	blocks("in place", MPI_COMM_WORLD, 1);
	blocks("ialltoall", MPI_COMM_WORLD, 2);
	blocks("Fortran", reversed, 3);
	types();
	unequal(0);
	unequal(1);
#if MPI_VERSION >= 4
	blocks("large count", MPI_COMM_WORLD, 4);
	unequal(2);
	huge();
#endif
	others();
	MPI_Comm_free(&half);
	MPI_Comm_free(&reversed);
	if (rank == 0)
		puts("ok");
	return MPI_Finalize();
}
