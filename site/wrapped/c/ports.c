/* connect, bind, listen and getsockname of the program and its MPI. A connection to another host of the plan of EVBENCH_PORTS leaves
 * from the port that the plan has for the two hosts, or, where others have that, from another whose way is known. Of two hosts the
 * first of the plan connects. All else passes by: other addresses and sockets, and sockets that have a port already. Programs that bind a
 * source address without a port get the address first, and the port when they connect. */
#define _GNU_SOURCE
#include "ports.h"
#include "next.h"
#include "reason.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPV6_AUTOFLOWLABEL
#define IPV6_AUTOFLOWLABEL 70
#endif

enum { PORTS = 65, HOSTS = 4096 };

struct peer {
	struct in6_addr at; /* IPv4 as ::ffff:a.b.c.d */
	char name[64];
	int ports[PORTS], n; /* the plan's and others; none where both are behind one switch, or the other host connects */
	int given[PORTS];    /* 1 + the socket that each was given to; 0: none yet */
	int fate; /* of the last connection that was begun to it */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of given and fate */
static struct peer *peers;
static int hosts, me = -1, to; /* the destination port */

/* What became of connections, after the plan's ports. */
enum { NONE, STEERED, SPARE, FULL, BOUND, ELSEWHERE, OTHER_WAY, FATES };
static const char *const fates[FATES] = {"was not made by connect", "", "leaves from another port whose way is known: the plan's is in use, or an earlier program's for a minute "
	"(where net.ipv4.tcp_tw_reuse is not 1)", "finds all ports of the plan in use",
	"is of a socket that had a port before", "leads to a port for which no ways are known", "was made by the host that the plan has accept it"};
static struct fate { long long n; char example[160]; } sum[FATES];

static int address(const char *text, struct in6_addr *at)
{
	char mapped[80];
	snprintf(mapped, sizeof mapped, strchr(text, ':') ? "%.60s" : "::ffff:%.60s", text);
	return inet_pton(AF_INET6, mapped, at) == 1 ? 0 : -1;
}

/* split returns the address and the port of a socket address; -1: it is of another family. */
static int split(const struct sockaddr *a, socklen_t len, struct in6_addr *at)
{
	const struct sockaddr_in *four = (const void *)a;
	const struct sockaddr_in6 *six = (const void *)a;
	if (a && len >= sizeof *four && a->sa_family == AF_INET) {
		*at = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
		memcpy(at->s6_addr + 12, &four->sin_addr, 4);
		return ntohs(four->sin_port);
	}
	if (!a || len < sizeof *six || a->sa_family != AF_INET6)
		return -1;
	*at = six->sin6_addr;
	return ntohs(six->sin6_port);
}

/* join is the way back, in the family of a socket. */
static socklen_t join(struct sockaddr_storage *s, int family, const struct in6_addr *at, int port)
{
	memset(s, 0, sizeof *s);
	s->ss_family = family;
	if (family == AF_INET) {
		((struct sockaddr_in *)s)->sin_port = htons(port);
		memcpy(&((struct sockaddr_in *)s)->sin_addr, at->s6_addr + 12, 4);
		return sizeof(struct sockaddr_in);
	}
	((struct sockaddr_in6 *)s)->sin6_port = htons(port);
	((struct sockaddr_in6 *)s)->sin6_addr = *at;
	return sizeof(struct sockaddr_in6);
}

static int peer_of(const struct in6_addr *at)
{
	for (int i = 0; i < hosts; i++)
		if (memcmp(&peers[i].at, at, sizeof *at) == 0)
			return i;
	return -1;
}

/* own finds out which host this is. */
static void own(void)
{
	struct ifaddrs *all = NULL;
	struct in6_addr at;
	if (getifaddrs(&all))
		return;
	for (struct ifaddrs *i = all; i && me < 0; i = i->ifa_next)
		if (i->ifa_addr && split(i->ifa_addr, i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6), &at) >= 0)
			me = peer_of(&at);
	freeifaddrs(all);
}

static void add(int a, int b, int port)
{
	if (a == me && b > me && b < hosts && port > 0 && port < 65536 && peers[b].n < PORTS)
		peers[b].ports[peers[b].n++] = port;
}

/* spare adds the ports of "# x-spare A B PORT PORT…". */
static void spare(char *text)
{
	char *at;
	long a = strtol(text, &at, 10), b = strtol(at, &at, 10), port;
	while ((port = strtol(at, &at, 10)) > 0)
		add(a, b, port);
}

/* take reads a line: the hosts first, then the plan's ports, then others. */
static void take(char *line, int pass)
{
	int i, a, b, port;
	char name[64], text[64];
	if (pass == 0 && sscanf(line, "# hosts %d", &i) == 1 && !peers && i > 0 && i <= HOSTS && (peers = calloc(i, sizeof *peers)))
		hosts = i;
	if (pass == 0 && sscanf(line, "# x-host %d %63s %63s", &i, name, text) == 3 && i >= 0 && i < hosts && address(text, &peers[i].at) == 0)
		memcpy(peers[i].name, name, sizeof name);
	if (pass == 0)
		sscanf(line, "# x-port %d", &to);
	if (pass == 1 && *line != '#' && sscanf(line, "%*d %d %d %d", &a, &b, &port) == 3)
		add(a, b, port);
	if (pass == 2 && strncmp(line, "# x-spare ", 10) == 0)
		spare(line + 10);
}

static void load(void)
{
	const char *file = file_of("EVBENCH_PORTS");
	FILE *f = file ? fopen(file, "re") : NULL;
	char *line = NULL;
	size_t room = 0;
	for (int pass = 0; f && pass < 3; pass++) {
		rewind(f);
		while (getline(&line, &room, f) > 0)
			take(line, pass);
		if (pass == 0)
			own();
	}
	free(line);
	if (f)
		fclose(f);
	if (file && (!f || me < 0))
		say(f ? "%s has no host with an address of this one: its connections leave from any port" :
			"%s cannot be read on this host: its connections leave from any port", file);
}

static int loaded(void)
{
	pthread_once(&once, load);
	return me >= 0;
}

int ports_planned(void) { return file_of("EVBENCH_PORTS") != NULL; }

/* port_of returns the port that a stream socket has, and its address; 0: none yet; -1: it is another kind of socket. */
static int port_of(int fd, struct in6_addr *at, int *family)
{
	int (*next)(int, struct sockaddr *, socklen_t *) = (int (*)(int, struct sockaddr *, socklen_t *))next_of("getsockname");
	struct sockaddr_storage s;
	socklen_t len = sizeof s;
	int type = 0;
	socklen_t size = sizeof type;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_STREAM || next(fd, (struct sockaddr *)&s, &len))
		return -1;
	*family = s.ss_family;
	return split((struct sockaddr *)&s, len, at);
}

static int bind_next(int fd, const struct sockaddr *a, socklen_t len)
{
	int (*next)(int, const struct sockaddr *, socklen_t) = (int (*)(int, const struct sockaddr *, socklen_t))next_of("bind");
	return next(fd, a, len);
}

static int bind_to(int fd, int family, const struct in6_addr *at, int port)
{
	struct sockaddr_storage s;
	socklen_t len = join(&s, family, at, port);
	return bind_next(fd, (struct sockaddr *)&s, len);
}

/* reused reports whether the kernel gives such a port to the next connection. */
static int reused(void)
{
	int is = 0;
	FILE *f = fopen("/proc/sys/net/ipv4/tcp_tw_reuse", "re");
	if (f && fscanf(f, "%d", &is) != 1)
		is = 0;
	if (f)
		fclose(f);
	return is == 1;
}

/* waits reports whether the kernel still keeps the connection of an earlier program from this port (TIME_WAIT): connect would fail. */
static int waits(const struct peer *p, int port)
{
	int four = IN6_IS_ADDR_V4MAPPED(&p->at), found = 0;
	FILE *f = fopen(four ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
	char line[300], text[40];
	const uint32_t *word = (const uint32_t *)p->at.s6_addr;
	unsigned from, dest, state;
	if (reused() && f) {
		fclose(f);
		return 0;
	}
	if (four)
		snprintf(text, sizeof text, "%08X", word[3]);
	else
		snprintf(text, sizeof text, "%08X%08X%08X%08X", word[0], word[1], word[2], word[3]);
	while (f && !found && fgets(line, sizeof line, f)) {
		char there[40];
		found = sscanf(line, " %*d: %*[0-9A-F]:%x %39[0-9A-F]:%x %x", &from, there, &dest, &state) == 4 && state == 6 && (int)from == port &&
			(int)dest == to && strcmp(there, text) == 0;
	}
	if (f)
		fclose(f);
	return found;
}

/* steer binds a socket to the first port for a peer that is free, and returns what becomes of the connection. */
static int steer(int fd, int family, int peer)
{
	struct peer *p = &peers[peer];
	int on = 1, off = 0;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* connections to other hosts leave from the port, too */
	if (family == AF_INET6) /* the ways are those of packets without a label */
		setsockopt(fd, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, &off, sizeof off);
	for (int i = 0; i < p->n; i++) {
		struct in6_addr at;
		int of;
		if (p->given[i] && port_of(p->given[i] - 1, &at, &of) == p->ports[i]) /* a second connection */
			continue;
		if (waits(p, p->ports[i]) || bind_to(fd, family, &peers[me].at, p->ports[i]))
			continue;
		p->given[i] = fd + 1;
		return i ? SPARE : STEERED;
	}
	return FULL;
}

int connect(int fd, const struct sockaddr *a, socklen_t len)
{
	int (*next)(int, const struct sockaddr *, socklen_t) = (int (*)(int, const struct sockaddr *, socklen_t))next_of("connect");
	struct in6_addr at, from;
	int before = errno, family, bound, port = split(a, len, &at), peer = port > 0 && loaded() ? peer_of(&at) : -1;
	if (peer >= 0 && peers[peer].n > 0 && (bound = port_of(fd, &from, &family)) >= 0) {
		struct peer *p = &peers[peer];
		pthread_mutex_lock(&lock);
		if (port != to)
			p->fate = p->fate ? p->fate : ELSEWHERE;
		else if (bound == 0)
			p->fate = steer(fd, family, peer);
		else if (!p->fate)
			p->fate = BOUND;
		pthread_mutex_unlock(&lock);
	}
	errno = before;
	return next(fd, a, len);
}

/* A port is drawn not before it is needed: the socket may be one that connects, or that listens on the plan's. Who listens on that may
 * do so a minute after an earlier program, too, which Open MPI does not ask for. */
int bind(int fd, const struct sockaddr *a, socklen_t len)
{
	struct in6_addr at;
	int on = 1, before = errno, port = split(a, len, &at);
	if (port == 0 && loaded() && peer_of(&at) == me)
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
	if (port > 0 && loaded() && port == to)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	errno = before;
	return bind_next(fd, a, len);
}

int listen(int fd, int backlog)
{
	int (*next)(int, int) = (int (*)(int, int))next_of("listen");
	struct in6_addr at;
	int on = 1, before = errno, family;
	if (loaded() && port_of(fd, &at, &family) == 0 && peer_of(&at) == me) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		bind_to(fd, family, &at, to);
	}
	errno = before;
	return next(fd, backlog);
}

int getsockname(int fd, struct sockaddr *restrict a, socklen_t *restrict len)
{
	int (*next)(int, struct sockaddr *, socklen_t *) = (int (*)(int, struct sockaddr *, socklen_t *))next_of("getsockname");
	struct in6_addr at;
	int off = 0, before = errno, family;
	if (loaded() && port_of(fd, &at, &family) == 0 && peer_of(&at) == me) { /* who asks gets the port that bind would have drawn */
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &off, sizeof off);
		bind_to(fd, family, &at, 0);
	}
	errno = before;
	return next(fd, a, len);
}

/* open_to fills in which connections there are with a peer: 1: to it, 2: from it. */
static void open_to(char *ways)
{
	DIR *all = opendir("/proc/self/fd");
	struct dirent *e;
	while (all && (e = readdir(all))) {
		struct sockaddr_storage s;
		socklen_t len = sizeof s;
		struct in6_addr at, there;
		int fd = atoi(e->d_name), family, port = port_of(fd, &at, &family), peer;
		if (port < 0 || getpeername(fd, (struct sockaddr *)&s, &len))
			continue;
		int other = split((struct sockaddr *)&s, len, &there);
		if ((peer = peer_of(&there)) >= 0)
			ways[peer] |= (other == to) | (port == to) << 1;
	}
	if (all)
		closedir(all);
}

void ports_write(FILE *f)
{
	char *ways = loaded() ? calloc(hosts, 1) : NULL;
	if (!ways)
		return;
	open_to(ways);
	for (int i = me + 1; i < hosts; i++) {
		int fate = ways[i] & 1 || peers[i].fate == ELSEWHERE ? peers[i].fate : ways[i] ? OTHER_WAY : NONE;
		if (peers[i].n > 0)
			fprintf(f, "ports %d 1 %s to %s\n", fate, peers[me].name, peers[i].name);
	}
	free(ways);
}

int ports_read(const char *line)
{
	int fate, at = 0;
	long long n;
	if (sscanf(line, "ports %d %lld %n", &fate, &n, &at) != 2 || fate < 0 || fate >= FATES)
		return -1;
	if (n > 0 && sum[fate].n == 0)
		snprintf(sum[fate].example, sizeof sum[fate].example, "%s", line + at);
	sum[fate].n += n;
	return 0;
}

void ports_say(FILE *f)
{
	long long other = 0;
	if (!ports_planned())
		return;
	for (int i = 0; i < FATES; i++) {
		if (i == STEERED || sum[i].n == 0)
			continue;
		other += sum[i].n;
		say("%lld connection%s not by the port of the plan, such as %s: it %s", sum[i].n, sum[i].n == 1 ? "" : "s", sum[i].example, fates[i]);
	}
	if (f)
		fprintf(f, "steered %lld\nunsteered %lld\n", sum[STEERED].n, other);
}
