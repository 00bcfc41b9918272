/* SPDX-License-Identifier: MIT */
/* Sends the datagram of sd_notify(3), "Notes", to an AF_UNIX socket. A leading '@' means an abstract name. */
#include "base/program/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

void notify_send(const char *fmt, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = -1;
	char text[512];
	size_t length;
	va_list ap;

	if (!path || !*path)
		return;
	length = strlen(path);
	if (length >= sizeof(address.sun_path)) {
		log_warn("NOTIFY_SOCKET is too long for the name of a socket, ignoring");
		return;
	}
	memcpy(address.sun_path, path, length);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		log_warn("cannot notify '%s': %s, ignoring", path, strerror(errno));
}
