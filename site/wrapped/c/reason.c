#include "reason.h"

#include <stdarg.h>
#include <string.h>

/* plain copies text of files and hosts: what is no printable ASCII as an escape such as \x1b. */
static void plain(char *to, size_t size, const char *from)
{
	size_t n = 0;
	for (; *from && n + 5 <= size; from++)
		n += snprintf(to + n, size - n, *from >= ' ' && *from <= '~' ? "%c" : "\\x%02x", (unsigned char)*from);
	to[n] = 0;
}

void say(const char *format, ...)
{
	char text[1024], line[1024];
	va_list a;
	va_start(a, format);
	vsnprintf(text, sizeof text, format, a);
	va_end(a);
	plain(line, sizeof line, text);
	fprintf(stderr, "libevbench: %s\n", line);
}

void reasons_add(struct reasons *r, const char *said, long long calls, long long comms, int refused)
{
	int i = 0;
	char why[PLAN_WHY];
	if (calls == 0)
		return;
	plain(why, sizeof why, said);
	while (i < r->n && strcmp(r->of[i].why, why))
		i++;
	if (i == REASONS)
		snprintf(r->of[--i].why, PLAN_WHY, "other reasons");
	else if (i == r->n)
		snprintf(r->of[r->n++].why, PLAN_WHY, "%s", why);
	r->of[i].calls += calls;
	r->of[i].comms += comms;
	r->of[i].refused |= refused;
}

void reasons_write(const struct reasons *r, FILE *f)
{
	for (int i = 0; i < r->n; i++)
		fprintf(f, "%s %lld %lld %s\n", r->of[i].refused ? "refused" : "left", r->of[i].calls, r->of[i].comms, r->of[i].why);
}

int reasons_read(struct reasons *r, const char *line)
{
	long long calls, comms;
	int at = 0, refused = strncmp(line, "refused ", 8) == 0;
	if (sscanf(line, refused ? "refused %lld %lld %n" : "left %lld %lld %n", &calls, &comms, &at) != 2 || at == 0)
		return -1;
	reasons_add(r, line + at, calls, comms, refused);
	return 0;
}

void reasons_say(const struct reasons *r)
{
	for (const struct reason *x = r->of; x < r->of + r->n; x++) {
		char on[64] = "";
		if (x->comms > 0)
			snprintf(on, sizeof on, " on %lld communicator%s", x->comms, x->comms == 1 ? "" : "s");
		say("%lld call%s%s not in the order of the plan: %s", x->calls, x->calls == 1 ? "" : "s", on, x->why);
	}
}

void reasons_refused(const struct reasons *r, FILE *f)
{
	for (const struct reason *x = r->of; x < r->of + r->n; x++)
		if (x->refused)
			fprintf(f, "refused %s\n", x->why);
}
