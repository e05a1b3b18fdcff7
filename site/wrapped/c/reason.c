#include "reason.h"

#include <string.h>

void reasons_add(struct reasons *r, const char *why, long long calls, long long comms)
{
	int i = 0;
	if (calls == 0)
		return;
	while (i < r->n && strcmp(r->of[i].why, why))
		i++;
	if (i == REASONS)
		snprintf(r->of[--i].why, PLAN_WHY, "other reasons");
	else if (i == r->n)
		snprintf(r->of[r->n++].why, PLAN_WHY, "%s", why);
	r->of[i].calls += calls;
	r->of[i].comms += comms;
}

void reasons_write(const struct reasons *r, FILE *f)
{
	for (int i = 0; i < r->n; i++)
		fprintf(f, "left %lld %lld %s\n", r->of[i].calls, r->of[i].comms, r->of[i].why);
}

int reasons_read(struct reasons *r, const char *line)
{
	long long calls, comms;
	int at = 0;
	char why[PLAN_WHY];
	if (sscanf(line, "left %lld %lld %n", &calls, &comms, &at) != 2 || at == 0)
		return -1;
	snprintf(why, sizeof why, "%.*s", (int)strcspn(line + at, "\n"), line + at);
	reasons_add(r, why, calls, comms);
	return 0;
}

void reasons_say(const struct reasons *r)
{
	for (int i = 0; i < r->n; i++)
		if (r->of[i].comms == 0)
			fprintf(stderr, "libevbench: %lld calls not in the order of the plan: %s\n", r->of[i].calls, r->of[i].why);
		else
			fprintf(stderr, "libevbench: %lld calls on %lld communicators not in the order of the plan: %s\n", r->of[i].calls, r->of[i].comms, r->of[i].why);
}
