#define _GNU_SOURCE
#include "ports.h"
#include "reason.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI
#define OURS "Open MPI"
#else
#define OURS "MPICH" /* and those of its family */
#endif

struct world world = {.key = MPI_KEYVAL_INVALID};

/* settings are those of rank 0: ranks that differ in them would wait for each other. */
static void settings(void)
{
	const char *least = file_of("EVBENCH_MIN");
	long long s[] = {file_of("EVBENCH_PLAN") != NULL, file_of("EVBENCH_TIMES") != NULL, file_of("EVBENCH_ALWAYS") != NULL, least ? atoll(least) : 16384};
	PMPI_Bcast(s, 4, MPI_LONG_LONG, 0, world.comm);
	world.plan = s[0];
	world.times = s[1];
	world.always = s[2];
	world.least = s[3];
}

/* nodes fills in who shares memory with whom. */
static void nodes(void)
{
	MPI_Comm beside;
	int first = world.rank;
	if (!(world.node = malloc(world.size * sizeof *world.node)))
		PMPI_Abort(MPI_COMM_WORLD, 1);
	PMPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &beside);
	PMPI_Bcast(&first, 1, MPI_INT, 0, beside);
	PMPI_Comm_free(&beside);
	PMPI_Allgather(&first, 1, MPI_INT, world.node, 1, MPI_INT, world.comm);
}

/* sign says in the file for times that the library is loaded, for who reads it. */
static void sign(void)
{
	const char *file = file_of("EVBENCH_TIMES");
	FILE *f = world.rank == 0 && file ? fopen(file, "a") : NULL;
	if (f)
		fprintf(f, "loaded %d\n", world.size);
	if (world.rank == 0 && file && (!f || fclose(f)))
		say("%s: the times cannot be written", file);
}

/* matching ends a program of another MPI, which would take our constants for its own. */
static void matching(void)
{
	char text[8192 + MPI_MAX_LIBRARY_VERSION_STRING] = ""; /* as much as any MPI says */
	int n = 0;
	PMPI_Get_library_version(text, &n);
	text[strcspn(text, "\n,")] = 0;
	if (!strncmp(text, "Open MPI", 8) == !strcmp(OURS, "Open MPI"))
		return;
	say("this library is for " OURS ", the program runs %s: take the libevbench of its MPI", text);
	exit(2);
}

/* acquaint has each rank send to those behind it first, so that of two the first makes the connection. */
static void acquaint(void)
{
	int rank, size;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rank; i++)
		PMPI_Recv(NULL, 0, MPI_BYTE, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = rank + 1; i < size; i++)
		PMPI_Send(NULL, 0, MPI_BYTE, i, 0, MPI_COMM_WORLD);
}

void world_ready(MPI_Comm_delete_attr_function *freed)
{
	int *most, there = 0;
	matching();
	if (ports_planned())
		acquaint();
	PMPI_Comm_dup(MPI_COMM_WORLD, &world.comm);
	PMPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
	PMPI_Comm_rank(world.comm, &world.rank);
	PMPI_Comm_size(world.comm, &world.size);
	PMPI_Comm_group(world.comm, &world.group);
	PMPI_Comm_get_attr(world.comm, MPI_TAG_UB, &most, &there);
	world.tags = (there ? *most : 32767) / 2 / world.size;
	settings();
	nodes();
	sign();
	PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &world.key, NULL);
	PMPI_Comm_set_attr(MPI_COMM_SELF, world.key, &world); /* MPI_Finalize deletes it first of all */
	world.on = world.plan || world.times;
}

void world_left(void)
{
	world.on = 0;
	PMPI_Group_free(&world.group);
	PMPI_Comm_free(&world.comm);
	free(world.node);
}
