/* What stands behind this library, and what the environment names. */
#ifndef EVBENCH_NEXT_H
#define EVBENCH_NEXT_H

#pragma GCC visibility push(hidden)

/* file_of returns the file that a variable names; NULL: none. */
const char *file_of(const char *name);

/* next_of returns the function of this name in what is loaded behind this library; NULL: none. */
void *next_of(const char *name);

#pragma GCC visibility pop
#endif
