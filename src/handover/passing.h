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

/* Sends at once or not at all: -EAGAIN if there is no room. */
must_check int passing_send(int fd, const void *message, size_t length, const int *fds, unsigned fd_count,
			    struct error *err);
/* Receives the next packet. -EAGAIN: none within timeout ms (0: does not wait); -ECONNRESET: the other side has ended;
 * -EPROTO: longer than HANDOVER_MAX, or with more than most descriptors, which are closed. */
must_check int passing_receive(int fd, int timeout, unsigned most, struct passing_packet *ret, struct error *err);
/* Closes the descriptors that are still in the packet. */
void passing_close(struct passing_packet *packet);
