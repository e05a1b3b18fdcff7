//go:build mpi

// The memory of buffers.

#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Over shared memory, a rank reads the buffer of another by a system call that
// looks up and pins every page of it: with small ones that takes about as long as
// the copy. So buffers from this size on, which is that of a huge page of most
// processors, begin where such a page does, and ask for them.
static const uint64_t huge = 2 << 20;

static size_t boundary(uint64_t n) {
	if (n < 4096) {
		return 64;
	}
	return n < huge ? 4096 : huge;
}

// evb_alloc returns n bytes, all 0 and touched, or NULL.
void *evb_alloc(uint64_t n) {
	void *p;
	if (posix_memalign(&p, boundary(n), n) != 0) {
		return NULL;
	}
#ifdef MADV_HUGEPAGE
	if (n >= huge) {
		madvise(p, n, MADV_HUGEPAGE); // where there are none, small ones do
	}
#endif
	return memset(p, 0, n);
}

void evb_free(void *p) { free(p); }
