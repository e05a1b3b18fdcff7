/* Reads plans, each after a line with its number of bytes, and prints a line for each: why it
 * is refused, or all that it says. */
#include "../c/plan.h"

#include <stdio.h>
#include <stdlib.h>

static void row(const struct plan *p, int server)
{
	char why[PLAN_WHY];
	int *to = malloc((p->phases + 1) * sizeof *to), *from = malloc((p->phases + 1) * sizeof *from);
	printf(" server%d %s:%d", p->server[server].position, p->server[server].name, p->server[server].slots);
	if (p->server[server].nth > 0)
		printf("@%d.%d", p->server[p->server[server].first].position, p->server[server].nth);
	if (plan_row(p, server, to, from, why))
		printf(" error: %s", why);
	else
		for (int k = 0; k < p->phases; k++)
			printf(" %d/%d", to[k], from[k]);
	free(to);
	free(from);
}

int main(void)
{
	size_t n;
	while (scanf("%zu", &n) == 1) {
		struct plan p;
		char why[PLAN_WHY], *text = malloc(n);
		getchar();
		if (fread(text, 1, n, stdin) != n)
			return 1;
		if (plan_read(&p, text, n, why))
			printf("error: %s", why);
		else {
			printf("%s phases %d ranks %d slots %d%s", p.hash, p.phases, p.ranks, p.slots, p.by_line ? " by line" : "");
			for (int i = 0; i < p.servers && i < 64; i++)
				row(&p, i);
			plan_free(&p);
		}
		putchar('\n');
		fflush(stdout);
		free(text);
	}
	return 0;
}
