/* Source ports of the connections between the hosts of a job: switches with ECMP choose a way by them. */
#ifndef EVBENCH_PORTS_H
#define EVBENCH_PORTS_H

#include <stdio.h>

#pragma GCC visibility push(hidden)

/* ports_planned reports whether EVBENCH_PORTS names a plan with source ports. It is the same for all ranks. */
int ports_planned(void);

/* ports_write writes what became of the connections of this process, a line "ports …"; ports_read adds such a line to the sum, and
 * returns 0; -1: it is another. */
void ports_write(FILE *f);
int ports_read(const char *line);

/* ports_say says the sum to people, what was not steered with an example, and writes "steered N" and "unsteered N" to a file, if
 * it is not NULL. */
void ports_say(FILE *f);

#pragma GCC visibility pop
#endif
