/* Does what it is told with sockets, prints the port from which each leaves or at which it listens, and then what the library writes of
 * its connections: "connect ADDRESS PORT", "address …" and "port …" bind 127.0.0.1 without and with a port first, "six …" is of IPv6, and
 * listens where its address is, "asked …" asks for its name before, "udp …" is no connection, "listen", "threads ADDRESS PORT" makes a
 * connection in each of two. */
#include "../c/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int port_at(int fd)
{
	struct sockaddr_in6 s;
	socklen_t len = sizeof s;
	return getsockname(fd, (struct sockaddr *)&s, &len) ? -1 : ntohs(s.sin6_port);
}

static int connected(const char *how, const char *text, int port)
{
	int six = !strcmp(how, "six"), fd = socket(six ? AF_INET6 : AF_INET, strcmp(how, "udp") ? SOCK_STREAM : SOCK_DGRAM, 0);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)}, own = {.sin_family = AF_INET};
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	char mapped[64];
	snprintf(mapped, sizeof mapped, strchr(text, ':') ? "%s" : "::ffff:%s", text);
	inet_pton(AF_INET, text, &to.sin_addr);
	inet_pton(AF_INET6, mapped, &to6.sin6_addr);
	inet_pton(AF_INET, "127.0.0.1", &own.sin_addr);
	if (!strcmp(how, "port")) {
		struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = own.sin_addr};
		int other = socket(AF_INET, SOCK_STREAM, 0);
		socklen_t len = sizeof any;
		if (bind(other, (struct sockaddr *)&any, len) || getsockname(other, (struct sockaddr *)&any, &len))
			perror("bind");
		own.sin_port = any.sin_port;
		int on = 1;
		setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	}
	if (strchr(text, ':')) {
		struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
		int l = socket(AF_INET6, SOCK_STREAM, 0);
		if (bind(l, (struct sockaddr *)&any, sizeof any) || listen(l, 1))
			perror("listen");
	}
	if (strcmp(how, "connect") && !six && bind(fd, (struct sockaddr *)&own, sizeof own))
		perror("bind");
	if (!strcmp(how, "asked") && port_at(fd) <= 0)
		puts("no name");
	if (six ? connect(fd, (struct sockaddr *)&to6, sizeof to6) : connect(fd, (struct sockaddr *)&to, sizeof to))
		perror("connect");
	return port_at(fd);
}

static char **arguments;

static void *thread(void *nothing)
{
	(void)nothing;
	return (void *)(long)connected("connect", arguments[1], atoi(arguments[2]));
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "listen")) {
			struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
			int fd = socket(AF_INET, SOCK_STREAM, 0);
			if (bind(fd, (struct sockaddr *)&own, sizeof own) || listen(fd, 1))
				perror("listen");
			printf("listen %d\n", port_at(fd));
		} else if (!strcmp(argv[i], "threads")) {
			pthread_t t[2];
			void *port[2];
			arguments = argv + i;
			for (int k = 0; k < 2; k++)
				pthread_create(&t[k], NULL, thread, NULL);
			for (int k = 0; k < 2; k++)
				pthread_join(t[k], &port[k]);
			printf("threads %d\n", port[0] != port[1]);
			i += 2;
		} else {
			printf("%s %d\n", argv[i], connected(argv[i], argv[i + 1], atoi(argv[i + 2])));
			i += 2;
		}
	}
	ports_write(stdout);
	return 0;
}
