/* MPI begins: the calls of C. Those of Fortran are in fortran.c. */
#define _GNU_SOURCE
#include "device.h"
#include "state.h"
#include "world.h"

#include <stddef.h>

int MPI_Init(int *argc, char ***argv)
{
	int (*next)(int *, char ***) = (int (*)(int *, char ***))next_of("MPI_Init");
	device_choose();
	int err = next ? next(argc, argv) : PMPI_Init(argc, argv);
	if (!err)
		ready();
	return err;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int (*next)(int *, char ***, int, int *) = (int (*)(int *, char ***, int, int *))next_of("MPI_Init_thread");
	device_choose();
	int err = next ? next(argc, argv, required, provided) : PMPI_Init_thread(argc, argv, required, provided);
	if (!err)
		ready();
	return err;
}
