#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <stdlib.h>

const char *file_of(const char *name)
{
	const char *s = getenv(name);
	return s && *s ? s : NULL;
}

void *next_of(const char *name) { return dlsym(RTLD_NEXT, name); }
