#include "plan.h"
#include "covered.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* SHA-256 (FIPS 180-4). */
struct sha {
	uint32_t h[8];
	uint64_t bytes;
	unsigned char block[64];
};

static uint32_t ror(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha_block(struct sha *s)
{
	static const uint32_t k[64] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
		0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
		0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
		0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
		0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
		0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
	};
	uint32_t w[64], v[8];
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 | (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + (ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
			(ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, s->h, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t a = v[7] + (ror(v[4], 6) ^ ror(v[4], 11) ^ ror(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
		uint32_t b = (ror(v[0], 2) ^ ror(v[0], 13) ^ ror(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += a;
		v[0] = a + b;
	}
	for (int i = 0; i < 8; i++)
		s->h[i] += v[i];
}

static void sha_add(struct sha *s, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		s->block[s->bytes++ % 64] = (unsigned char)text[i];
		if (s->bytes % 64 == 0)
			sha_block(s);
	}
}

static void sha_hex(struct sha *s, char hex[65])
{
	uint64_t bits = 8 * s->bytes;
	char length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (char)(bits >> (56 - 8 * i));
	sha_add(s, "\x80", 1);
	while (s->bytes % 64 != 56)
		sha_add(s, "", 1);
	sha_add(s, length, 8);
	for (int i = 0; i < 8; i++)
		snprintf(hex + 8 * i, 9, "%08x", (unsigned)s->h[i]);
}

static const struct sha sha_begin = {
	.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
};

/* Limits, so that no file makes a program ask for all memory. */
enum { MAX_POSITIONS = 1 << 20, MAX_PHASES = 1 << 20, MAX_SLOTS = 4096 };

static int wrong(char why[PLAN_WHY], const char *format, ...)
{
	va_list a;
	va_start(a, format);
	vsnprintf(why, PLAN_WHY, format, a);
	va_end(a);
	return -1;
}

/* number reads digits at *at, before end, and steps over them; -1: none, or above most. */
static int number(const char **at, const char *end, int most)
{
	long n = 0;
	const char *first = *at;
	while (*at < end && isdigit((unsigned char)**at)) {
		n = 10 * n + (**at - '0');
		if (n > most)
			return -1;
		++*at;
	}
	return *at == first ? -1 : (int)n;
}

static const char *blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

/* A header is the value of a line "# key value". */
struct header { const char *at, *end; };

static int key_is(struct header *h, const char *at, const char *end, const char *key)
{
	size_t n = strlen(key);
	at = blanks(at + 1, end);
	if ((size_t)(end - at) < n || memcmp(at, key, n) != 0 || (at + n < end && at[n] != ' ' && at[n] != '\t'))
		return 0;
	h->at = blanks(at + n, end);
	h->end = end;
	return 1;
}

/* fill reads the numbers of servers on leaves, and which positions they have: those of
 * a leaf begin at a multiple of the ports for servers that a leaf has. */
static int fill(struct plan *p, struct header topology, struct header filling, char why[PLAN_WHY])
{
	const char *at = topology.at, *end = topology.end;
	int ports = -1;
	if (end - at > 2 && memcmp(at, "PG", 2) == 0)
		at += 2; /* PGFT(levels;M0,…): cables are parallel */
	if (end - at > 3 && memcmp(at, "FT(", 3) == 0) {
		at += 3;
		if (number(&at, end, 9) > 0 && at < end && *at++ == ';')
			ports = number(&at, end, 1 << 16);
	}
	if (ports < 1)
		return wrong(why, "topology %.*s: no FT(levels;M0,…)", (int)(end - topology.at > 60 ? 60 : end - topology.at), topology.at);
	int leaves = 1;
	for (const char *c = filling.at; c < filling.end; c++)
		leaves += *c == ',';
	if (leaves > MAX_POSITIONS / ports)
		return wrong(why, "%d leaves with %d ports are too many", leaves, ports);
	p->positions = leaves * ports;
	p->index = malloc(p->positions * sizeof *p->index);
	p->server = calloc(p->positions, sizeof *p->server);
	if (!p->index || !p->server)
		return wrong(why, "no memory");
	at = filling.at;
	for (int leaf = 0; leaf < leaves; leaf++) {
		int on = number(&at, filling.end, ports);
		if (on < 0 || (at < filling.end && *at++ != ','))
			return wrong(why, "fill: leaf%d has no number of servers from 0 to %d", leaf, ports);
		for (int slot = 0; slot < ports; slot++) {
			int here = leaf * ports + slot;
			p->index[here] = slot < on ? p->servers : -1;
			if (slot < on) {
				p->server[p->servers] = (struct plan_server){.position = here, .slots = 1, .first = p->servers, .next = -1};
				p->servers++;
			}
		}
	}
	return p->servers < 1 ? wrong(why, "no servers") : 0;
}

static void short_name(char *to, size_t size, const char *at, const char *end)
{
	size_t n = 0;
	for (; at < end && *at != '.' && n + 1 < size; at++)
		to[n++] = *at;
	to[n] = 0;
}

/* host reads "POSITION NAME SLOTS", behind which the name of an adapter may stand, or "POSITION NAME ADDRESS" of a host of one rank. */
static int host(struct plan *p, struct header h, int line, char why[PLAN_WHY])
{
	const char *at = h.at, *name;
	int position = number(&at, h.end, p->positions - 1), slots;
	if (position < 0 || p->index[position] < 0)
		return wrong(why, "x-host %.*s: no server of this plan", (int)(h.end - h.at > 60 ? 60 : h.end - h.at), h.at);
	struct plan_server *s = &p->server[p->index[position]];
	name = blanks(at, h.end);
	for (at = name; at < h.end && *at != ' ' && *at != '\t';)
		at++;
	if (s->name[0] || at == name || at - name >= (long)sizeof s->name)
		return wrong(why, "x-host of server%d: write one name of 1 to %zu bytes", position, sizeof s->name - 1);
	short_name(s->name, sizeof s->name, name, at);
	at = blanks(at, h.end);
	if (memchr(at, '.', h.end - at) || memchr(at, ':', h.end - at)) {
		slots = 1;
		at = h.end;
	} else {
		slots = number(&at, h.end, MAX_SLOTS);
	}
	if (slots >= 1 && at < h.end && *at == ' ')
		while (++at < h.end && *at != ' ' && *at != '\t')
			;
	if (slots < 1 || at != h.end)
		return wrong(why, "x-host of server%d: a number of ranks from 1 to %d must follow the name", position, MAX_SLOTS);
	s->slots = slots;
	s->line = line;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct plan_server *x = *(const struct plan_server *const *)a, *y = *(const struct plan_server *const *)b;
	int order = strcasecmp(x->name, y->name);
	return order ? order : x->line - y->line;
}

/* group joins servers of one host, its adapters, which have a rank each. */
static int group(struct plan *p, char why[PLAN_WHY])
{
	struct plan_server **sorted = malloc(p->servers * sizeof *sorted);
	int err = sorted ? 0 : wrong(why, "no memory");
	for (int i = 0; !err && i < p->servers; i++)
		sorted[i] = &p->server[i];
	if (!err)
		qsort(sorted, p->servers, sizeof *sorted, by_name);
	for (int i = 1; !err && i < p->servers; i++) {
		struct plan_server *s = sorted[i], *last = sorted[i - 1];
		if (strcasecmp(s->name, last->name))
			continue;
		if (s->slots > 1 || last->slots > 1)
			err = wrong(why, "host %s has several adapters, and more than one rank on one", s->name);
		p->several = 1;
		last->next = s - p->server;
		s->first = last->first;
		s->nth = last->nth + 1;
	}
	p->by_line = !err && sorted[0]->name[0] == '#';
	free(sorted);
	return err;
}

/* hosts reads all x-host lines before the body: of every server, or of none. */
static int hosts(struct plan *p, const char *text, char why[PLAN_WHY])
{
	int named = 0;
	for (const char *line = text, *end; line < p->body; line = end + 1) {
		struct header h;
		end = memchr(line, '\n', p->body - line);
		if (!end)
			end = p->body;
		if (end > line && *line == '#' && key_is(&h, line, end, "x-host")) {
			if (host(p, h, named++, why))
				return -1;
		}
	}
	if (named > 0 && named != p->servers)
		return wrong(why, "%d of %d servers have a host", named, p->servers);
	for (int i = 0; i < p->servers; i++) {
		p->ranks += p->server[i].slots;
		if (p->server[i].slots > p->slots)
			p->slots = p->server[i].slots;
	}
	return named > 0 ? group(p, why) : 0;
}

/* hosts_only takes the hosts of a plan over given tables, of a network of any shape: their
 * positions are their ranks. */
static int hosts_only(struct plan *p, struct header hosts, char why[PLAN_WHY])
{
	const char *at = hosts.at;
	int n = number(&at, hosts.end, MAX_POSITIONS);
	if (n < 1 || at != hosts.end)
		return wrong(why, "hosts: write a number from 1 to %d", MAX_POSITIONS);
	p->positions = p->servers = n;
	p->index = malloc(n * sizeof *p->index);
	p->server = calloc(n, sizeof *p->server);
	if (!p->index || !p->server)
		return wrong(why, "no memory");
	for (int i = 0; i < n; i++) {
		p->index[i] = i;
		p->server[i] = (struct plan_server){.position = i, .slots = 1, .first = i, .next = -1};
	}
	return 0;
}

/* form is the version in the first line of a plan in phases; 0: it is none. Form 2 has none. */
static int form(const char *text, size_t len)
{
	static const char first[] = "# evbench plan ";
	size_t n = sizeof first - 1;
	return len > n + 1 && memcmp(text, first, n) == 0 && text[n + 1] == '\n' && strchr("134", text[n]) ? text[n] - '0' : 0;
}

static int read_all(struct plan *p, const char *text, size_t len, char why[PLAN_WHY])
{
	const char *end = text + len, *line_end;
	struct header topology = {0}, filling = {0}, phases = {0}, hash = {0}, count = {0}, roles = {0}, sizes = {0}, lost = {0}, h;
	const struct { const char *key; struct header *to; } kept[] = {{"topology", &topology}, {"fill", &filling}, {"phases", &phases}, {"hash", &hash},
		{"hosts", &count}, {"readers", &roles}, {"builders", &roles}, {"sizes", &sizes}, {"undelivered", &lost}, {"unreachable", &lost}};
	struct sha sha = sha_begin;
	char hex[65];
	int of = form(text, len), tables;
	if (!of)
		return wrong(why, "not a plan file in text form: it starts with \"# evbench plan 4\", or 1 or 3");
	for (const char *line = text; line < end; line = line_end + 1) {
		line_end = memchr(line, '\n', end - line);
		if (!line_end)
			return wrong(why, "the last line has no end: the file is cut off");
		if (line == line_end)
			continue;
		if (*line != '#') {
			if (!p->body)
				p->body = line;
			sha_add(&sha, line, line_end + 1 - line);
			continue;
		}
		if (p->body)
			return wrong(why, "header lines come before the first message");
		for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
			if (key_is(&h, line, line_end, kept[i].key))
				*kept[i].to = h;
		for (const char *const *key = covered; *key; key++)
			if (key_is(&h, line, line_end, *key))
				sha_add(&sha, line, line_end + 1 - line);
	}
	p->end = end;
	if (!p->body)
		p->body = end;
	tables = of == 3 || count.at;
	if (!hash.at || (!phases.at && !sizes.at) || (tables ? !count.at : !topology.at || !filling.at))
		return wrong(why, tables ? "the header must have hosts, phases and hash" : "the header must have topology, fill, phases and hash");
	sha_hex(&sha, hex);
	snprintf(p->hash, sizeof p->hash, "sha256:%s", hex);
	if ((size_t)(hash.end - hash.at) != strlen(p->hash) || memcmp(hash.at, p->hash, strlen(p->hash)) != 0)
		return wrong(why, "the hash is not that of its messages: the file was changed");
	if (roles.at || sizes.at || lost.at)
		return wrong(why, roles.at ? "it is not for an all-to-all: servers only read or only build" :
			sizes.at ? "it is not for an all-to-all: its fragments have sizes of their own" : "it leaves out messages that have no path");
	p->phases = number(&phases.at, phases.end, MAX_PHASES);
	if (p->phases < 0 || phases.at != phases.end)
		return wrong(why, "phases: write a number up to %d", MAX_PHASES);
	return (tables ? hosts_only(p, count, why) : fill(p, topology, filling, why)) || hosts(p, text, why);
}

int plan_read(struct plan *p, const char *text, size_t len, char why[PLAN_WHY])
{
	*p = (struct plan){0};
	int err = read_all(p, text, len, why);
	if (err)
		plan_free(p);
	return err ? -1 : 0;
}

void plan_free(struct plan *p)
{
	free(p->server);
	free(p->index);
	*p = (struct plan){0};
}

int plan_find(const struct plan *p, const char *name)
{
	char own[sizeof p->server->name];
	short_name(own, sizeof own, name, name + strlen(name));
	for (int i = 0; i < p->servers; i++)
		if (strcasecmp(p->server[i].name, own) == 0)
			return p->server[i].first;
	return -1;
}

int plan_at(const struct plan *p, int line)
{
	int i = 0;
	while (i < p->servers - 1 && p->server[i].line != line)
		i++;
	return i;
}

/* message reads "phase src dst", servers by index. */
static int message(const struct plan *p, const char *at, const char *end, int *phase, int *src, int *dst)
{
	*phase = number(&at, end, p->phases - 1);
	at = blanks(at, end);
	*src = number(&at, end, p->positions - 1);
	at = blanks(at, end);
	*dst = number(&at, end, p->positions - 1);
	if (*phase < 0 || *src < 0 || *dst < 0 || at >= end || *at != ' ')
		return -1;
	*src = p->index[*src];
	*dst = p->index[*dst];
	return *src < 0 || *dst < 0 || *src == *dst ? -1 : 0;
}

int plan_apart(const struct plan *p, int server, int other) { return other >= 0 && p->server[other].first != p->server[server].first; }

int plan_row(const struct plan *p, int server, int *to, int *from, char why[PLAN_WHY])
{
	int err = 0, met = 0, others = 0;
	char *seen = calloc(p->servers, 1); /* 1: sent to, 2: heard from */
	if (!seen)
		return wrong(why, "no memory");
	for (int k = 0; k < p->phases; k++)
		to[k] = from[k] = -1;
	for (const char *line = p->body, *end; !err && line < p->end; line = end + 1) {
		int k, src, dst;
		end = memchr(line, '\n', p->end - line); /* there is one: plan_read has looked */
		if (line == end)
			continue;
		if (message(p, line, end, &k, &src, &dst))
			err = wrong(why, "\"%.*s\" is no message of this plan", (int)(end - line > 60 ? 60 : end - line), line);
		else if (src == server || dst == server) {
			int peer = src == server ? dst : src, way = src == server ? 1 : 2;
			int *at = way == 1 ? &to[k] : &from[k];
			if (*at >= 0 || seen[peer] & way)
				err = wrong(why, "server%d meets one twice, in phase %d", p->server[server].position, k);
			*at = peer;
			seen[peer] |= way;
			met += plan_apart(p, server, peer);
		}
	}
	for (int i = 0; i < p->servers; i++)
		others += plan_apart(p, server, i);
	if (!err && met != 2 * others)
		err = wrong(why, "the plan leaves out messages of server%d", p->server[server].position);
	free(seen);
	return err;
}
