/* The plan file (docs/reference/files.md), as far as a program that exchanges in its order
 * needs it: who is which server, and with whom a server exchanges in each phase. */
#ifndef EVBENCH_PLAN_H
#define EVBENCH_PLAN_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

#define PLAN_WHY 200 /* bytes of a reason */

struct plan_server {
	int position;  /* by which the file names it */
	int slots;     /* ranks on it, 1 where the file names no hosts */
	char name[64]; /* of its host, without the domain; "" where the file names none */
	int line;      /* of the lines with hosts */
	int first;     /* server of its host, by lines; itself where its host has no other */
	int next;      /* server of its host; -1: none */
	int nth;       /* server of its host it is, from 0 */
};

struct plan {
	int servers, phases;
	int ranks; /* on all hosts */
	int slots; /* on the server with the most */
	int several; /* a host is several servers: its adapters */
	int by_line; /* ranks are servers in the order of lines, whatever their hosts are called */
	struct plan_server *server;
	int *index; /* of a position; -1: no server */
	int positions;
	const char *body, *end; /* lines of the messages, in the text that was read */
	char hash[80];
};

/* plan_read reads a text of len bytes, which stays the caller's and must outlive the plan.
 * 0: done; else why says what is wrong, and there is nothing to free. */
int plan_read(struct plan *p, const char *text, size_t len, char why[PLAN_WHY]);

/* plan_row fills in with whom a server exchanges: phases numbers each, -1: nobody. It checks
 * that it sends to each server of another host once and hears from each once. */
int plan_row(const struct plan *p, int server, int *to, int *from, char why[PLAN_WHY]);

/* plan_apart reports whether there is another server, on another host. */
int plan_apart(const struct plan *p, int server, int other);

/* plan_find returns the first server of the host with a name, or -1. A domain does not count. */
int plan_find(const struct plan *p, const char *name);

/* plan_at returns the server of a line, from 0. */
int plan_at(const struct plan *p, int line);

void plan_free(struct plan *p);

#pragma GCC visibility pop

#endif
