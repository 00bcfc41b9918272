/* SPDX-License-Identifier: MIT */
/* Accepts numeric addresses only: a name may resolve to another host tomorrow. */
#include "exporter/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/parse.h"

#define LISTENER_EXPECTED   "expected ADDRESS:PORT, such as 127.0.0.1:9570 or [::1]:9570"
#define LISTENER_SILENT     5 /* seconds, roughly */
#define LISTENER_PASSED     3 /* SD_LISTEN_FDS_START */
#define LISTENER_EVERY      "::"
#define LISTENER_EVERY_IPV4 "0.0.0.0"

/* Cuts copy into host and port. The host is "" for every address. */
static int listener_split(char *copy, char **ret_host, char **ret_port, struct error *err)
{
	char *colon = strrchr(copy, ':'), *host = copy;
	uint64_t port;

	if (!colon || parse_u64(colon + 1, 0, 65535, &port, NULL) < 0)
		return error_set(err, -EINVAL, "'%s': " LISTENER_EXPECTED, copy);
	*colon = 0;
	if (*host == '[' && colon > host + 2 && colon[-1] == ']') {
		colon[-1] = 0;
		host++;
	} else if (strchr(host, ':')) {
		return error_set(err, -EINVAL, "'%s:%s': " LISTENER_EXPECTED, host, colon + 1);
	}
	*ret_host = host;
	*ret_port = colon + 1;
	return 0;
}

/* Resolves an address; the caller frees *ret with freeaddrinfo(). every: the address to use for "every address". */
static int listener_resolve(const char *address, const char *every, struct addrinfo **ret, struct error *err)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
	};
	auto_free char *copy = strdup(address);
	char *host = NULL, *port = NULL;
	int r;

	if (!copy)
		return error_no_memory(err);
	r = listener_split(copy, &host, &port, err);
	if (r < 0)
		return r;
	if (getaddrinfo(*host ? host : every, port, &hints, ret) != 0)
		return error_set(err, -EINVAL, "'%s': " LISTENER_EXPECTED, address);
	return 0;
}

int listener_check(const char *address, struct error *err)
{
	struct addrinfo *info;
	int r = listener_resolve(address, LISTENER_EVERY, &info, err);

	if (r == 0)
		freeaddrinfo(info);
	return r;
}

static int listener_name(int fd, char name[LISTENER_NAME_SIZE], struct error *err)
{
	struct sockaddr_storage bound = { 0 };
	socklen_t length = sizeof(bound);
	char host[INET6_ADDRSTRLEN], port[8];

	if (getsockname(fd, (struct sockaddr *)&bound, &length) < 0)
		return error_errno(err, "cannot tell the address of the socket");
	if (bound.ss_family == AF_UNIX) {
		snprintf(name, LISTENER_NAME_SIZE, "unix:%s:", ((struct sockaddr_un *)&bound)->sun_path);
		return 0;
	}
	if (getnameinfo((struct sockaddr *)&bound, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return error_set(err, -EINVAL, "cannot tell the address of the socket");
	snprintf(name, LISTENER_NAME_SIZE, bound.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return 0;
}

/* Opens the socket: returns it or a negative errno. A socket for every address takes IPv4 too, even if
 * net.ipv6.bindv6only is set. */
static int listener_bind(const struct addrinfo *info, bool is_every)
{
	auto_close int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1, no = 0, silent = LISTENER_SILENT;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
		return -errno;
	if (is_every && info->ai_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) < 0)
		return -errno;
	/* A client that has sent nothing waits in the kernel, and needs no place of ours. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent, sizeof(silent));
	if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
		return -errno;
	return take_fd(&fd);
}

/* Resolves the address and opens the socket: returns it or a negative errno. every: as for listener_resolve(). */
static int listener_try(const char *address, const char *every, struct error *err)
{
	struct addrinfo *info = NULL;
	int fd = listener_resolve(address, every, &info, err);

	if (fd < 0)
		return fd;
	fd = listener_bind(info, *address == ':');
	freeaddrinfo(info);
	if (fd == -EADDRINUSE)
		return error_set(err, fd, "cannot listen at '%s': %s; 'ss -ltnp' shows which program does: stop it, or "
				 "give another address with --listen", address, strerror(-fd));
	return fd < 0 ? error_set(err, fd, "cannot listen at '%s': %s", address, strerror(-fd)) : fd;
}

/* Returns the socket that the service manager passed, or a negative errno. -ENOENT: it passed none. */
static int listener_passed(struct error *err)
{
	const char *process = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint64_t number;
	int listens = 0;
	socklen_t size = sizeof(listens);

	if (!process || !count || parse_u64(process, 1, INT32_MAX, &number, NULL) < 0 || number != (uint64_t)getpid())
		return -ENOENT;
	if (strcmp(count, "1") != 0)
		return error_set(err, -EINVAL, "the service manager passed %s sockets, expected one", count);
	if (getsockopt(LISTENER_PASSED, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens ||
	    fcntl(LISTENER_PASSED, F_SETFL, O_NONBLOCK) < 0 || fcntl(LISTENER_PASSED, F_SETFD, FD_CLOEXEC) < 0)
		return error_set(err, -EINVAL, "the service manager passed a descriptor that accepts no connections, "
				 "expected a socket of a unit with 'ListenStream='");
	return LISTENER_PASSED;
}

int listener_open(const char *address, int *ret_fd, char ret_name[LISTENER_NAME_SIZE], struct error *err)
{
	auto_close int fd = listener_passed(err);
	int r;

	if (fd == -ENOENT)
		fd = listener_try(address, LISTENER_EVERY, err);
	if (fd == -EAFNOSUPPORT && *address == ':')
		fd = listener_try(address, LISTENER_EVERY_IPV4, err); /* a kernel without IPv6 */
	if (fd < 0)
		return fd;
	r = listener_name(fd, ret_name, err);
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}
