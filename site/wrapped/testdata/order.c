/* Does an exchange, and prints for each rank to whom it has sent, and | for a barrier. Each N ranks
 * say that they share a host, as in exchange.c. Before that it prints UCX_NET_DEVICES of each. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, LINE = 200 };

static int rank, size, a_host, watching;
static char line[LINE];

int PMPI_Get_processor_name(char *name, int *len)
{
	*len = sprintf(name, "node%d.cluster", rank / a_host);
	return MPI_SUCCESS;
}

int PMPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
	if (watching)
		sprintf(line + strlen(line), " %d", to);
	return MPI_Isend(buf, count, type, to, tag, comm, request);
}

static void barrier(void)
{
	if (watching && *line && line[strlen(line) - 1] != '|')
		strcat(line, " |");
}

int PMPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
	if (count == 0)
		barrier();
	return MPI_Irecv(buf, count, type, from, tag, comm, request);
}

int PMPI_Send(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	if (count == 0)
		barrier();
	return MPI_Send(buf, count, type, to, tag, comm);
}

static void print(const char *what)
{
	char all[64 * LINE];
	MPI_Gather(line, LINE, MPI_CHAR, all, LINE, MPI_CHAR, 0, MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < size; i++)
		printf("%s %d:%s\n", what, i, all + i * LINE);
	*line = 0;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	a_host = atoi(argv[1]);
	snprintf(line, LINE, " %s", getenv("UCX_NET_DEVICES") ? getenv("UCX_NET_DEVICES") : "-");
	print("device");
	snprintf(line, LINE, " %s", getenv("UCX_IB_LID_PATH_BITS") ? getenv("UCX_IB_LID_PATH_BITS") : "-");
	print("bits");
	char *out = calloc(size, N), *in = calloc(size, N);
	MPI_Alltoall(out, N, MPI_CHAR, in, N, MPI_CHAR, MPI_COMM_WORLD); /* finds out about the plan */
	watching = 1;
	MPI_Alltoall(out, N, MPI_CHAR, in, N, MPI_CHAR, MPI_COMM_WORLD);
	watching = 0;
	print("sent");
	free(out);
	free(in);
	return MPI_Finalize();
}
