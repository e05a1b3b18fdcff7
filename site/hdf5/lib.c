//go:build hdf5

// What Go's binding of HDF5 lacks.

#include "lib.h"

#include <stdio.h>
#include <stdlib.h>

// The innermost reason of the last error. Calls of the library store it in their own thread; Go's
// lock keeps other calls out meanwhile.
static char reason[512];

static herr_t innermost(unsigned n, const H5E_error2_t *e, void *unused) {
	if (n == 0 && e->desc != NULL)
		snprintf(reason, sizeof reason, "%s", e->desc);
	return 0;
}

static herr_t remember(hid_t stack, void *unused) {
	return H5Ewalk2(stack, H5E_WALK_UPWARD, innermost, NULL);
}

// evb_h5_listen replaces the printing handler of this thread: a thread-safe library has one for each.
void evb_h5_listen(void) {
	reason[0] = 0;
	H5Eset_auto2(H5E_DEFAULT, remember, NULL);
}

const char *evb_h5_why(void) { return reason; }

herr_t evb_h5_utf8(hid_t type) { return H5Tset_cset(type, H5T_CSET_UTF8); }

herr_t evb_h5_unlink(hid_t file, const char *name) {
	return H5Ldelete(file, name, H5P_DEFAULT);
}

// On file systems without locks, as on many clusters, the library must go on without. It reads the
// environment when it starts, before any Go code runs. A choice of the user stays.
__attribute__((constructor)) static void lock_if_possible(void) {
	setenv("HDF5_USE_FILE_LOCKING", "BEST_EFFORT", 0);
}

// The library converts the numbers of the file to double.
herr_t evb_h5_doubles(hid_t set, double *to) {
	return H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
}
