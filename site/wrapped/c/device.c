#define _GNU_SOURCE
#include "device.h"
#include "reason.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static int chosen = -1;

int device_rank(void) { return chosen; }

/* rank_here returns which rank of this host a rank is, by its launcher: Open MPI's, MPICH's, Flux,
 * Slurm; -1: none says it. */
static int rank_here(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *s = getenv(names[i]);
		if (s && *s)
			return atoi(s);
	}
	return -1;
}

/* list_of returns the adapters of a host in "HOST/ADAPTER/ADAPTER,HOST/…"; NULL: it is not there.
 * Domains do not count. */
static const char *list_of(const char *all, const char *host)
{
	size_t n = strcspn(host, ".");
	for (const char *at = all; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, "./,") == n && strncasecmp(at, host, n) == 0)
			return at + strcspn(at, "/,");
	return NULL;
}

/* device_of writes what UCX calls an adapter: mlx5_0 is mlx5_0:1. -1: this host has no such device. */
static int device_of(const char *name, char *to, size_t size)
{
	static const char *const classes[] = {"infiniband", "net"};
	for (int i = 0; i < 2; i++) {
		char file[300];
		snprintf(file, sizeof file, "/sys/class/%s/%.*s", classes[i], (int)(i ? strlen(name) : strcspn(name, ":")), name);
		if (access(file, F_OK) == 0)
			return snprintf(to, size, "%s%s", name, i || strchr(name, ':') ? "" : ":1") < (int)size ? 0 : -1;
	}
	return -1;
}

/* own copies what "HOST/ITEM/ITEM,HOST/…" has for this rank: the item of its number on the host, or the only one.
 * 0: this host is not there; 1: it is; 2: with several items. to is "" without an item for this rank. */
static int own(const char *all, const char *host, int here, char *to, size_t size)
{
	const char *list = all ? list_of(all, host) : NULL;
	int several;
	*to = 0;
	if (!list)
		return 0;
	several = list[strcspn(list + 1, "/,") + 1] == '/'; /* one is for all ranks */
	for (int i = 0; *list == '/' && i <= (several ? here : 0); i++) {
		size_t n = strcspn(++list, "/,");
		snprintf(to, size, "%.*s", (int)n, list);
		list += n;
		if (i < (several ? here : 0))
			*to = 0;
	}
	return 1 + several;
}

/* without says that a variable of this rank is not set. */
static void without(const char *what, const char *variable, const char *host, int here)
{
	if (here < 0)
		say("the launcher does not say which rank of %s this is: %s is not set", host, variable);
	else
		say("%s has no %s for rank %d of it: %s is not set", host, what, here, variable);
}

void device_choose(void)
{
	char host[256] = "", name[128], device[136];
	int here = rank_here(), there;
	if (gethostname(host, sizeof host - 1))
		return;
	there = getenv("UCX_IB_LID_PATH_BITS") ? 0 : own(getenv("EVBENCH_PATH_BITS"), host, here, name, sizeof name);
	if (there && *name)
		setenv("UCX_IB_LID_PATH_BITS", name, 1);
	else if (there == 2)
		without("path bits", "UCX_IB_LID_PATH_BITS", host, here);
	there = getenv("UCX_NET_DEVICES") ? 0 : own(getenv("EVBENCH_DEVICES"), host, here, name, sizeof name);
	if (!there)
		return;
	if (!*name)
		without("adapter", "UCX_NET_DEVICES", host, here);
	else if (device_of(name, device, sizeof device))
		say("%s has no device %s: set UCX_NET_DEVICES for rank %d of it", host, name, here);
	else if (!setenv("UCX_NET_DEVICES", device, 1) && there == 2)
		chosen = here;
}
