/* SPDX-License-Identifier: MIT */
/* Sends and receives packets with descriptors over a socket between the daemon and its clients. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "handover/handover.h"

struct passing_packet {
	_Alignas(8) unsigned char bytes[HANDOVER_MAX];
	size_t length;
	int fds[HANDOVER_FDS]; /* close-on-exec; the receiver closes them */
	unsigned fd_count;
};

/* Sends a packet without waiting. -EAGAIN: the socket has no room for it. */
must_check int passing_send(int fd, const void *message, size_t length, const int *fds, unsigned fd_count,
			    struct error *err);
/* Receives the next packet. -EAGAIN: none came within timeout ms (0: does not wait); -ECONNRESET: the other side has
 * ended; -EPROTO: it is longer than HANDOVER_MAX, or has more than `most` descriptors, which are then closed. */
must_check int passing_receive(int fd, int timeout, unsigned most, struct passing_packet *ret, struct error *err);
/* Closes the descriptors that are still in the packet. */
void passing_close(struct passing_packet *packet);
