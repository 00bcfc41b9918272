/* SPDX-License-Identifier: MIT */
/* Packets with descriptors over a socket, as the daemon and its clients send them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "handover/handover.h"

struct passing_packet {
	_Alignas(8) unsigned char bytes[HANDOVER_MAX];
	size_t length;
	int fds[HANDOVER_FDS]; /* close-on-exec; the receiver's to close */
	unsigned fd_count;
};

/* Sends at once or not at all: -EAGAIN when there is no room. */
must_check int passing_send(int fd, const void *message, size_t length, const int *fds, unsigned fd_count,
			    struct error *err);
/* The next packet. -EAGAIN: none within timeout (ms; 0: there is none now); -ECONNRESET: the other side has ended;
 * -EPROTO: longer than HANDOVER_MAX, or with more descriptors than most, which are closed. */
must_check int passing_receive(int fd, int timeout, unsigned most, struct passing_packet *ret, struct error *err);
/* Closes the descriptors that are still in it. */
void passing_close(struct passing_packet *packet);
