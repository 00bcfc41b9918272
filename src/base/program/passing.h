/* SPDX-License-Identifier: MIT */
/* Sends and receives packets with descriptors over a SOCK_SEQPACKET socket between two processes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define PASSING_MAX 4096u /* bytes of a packet */
#define PASSING_FDS 253u  /* most descriptors of a packet; the kernel passes no more */

struct passing_packet {
	_Alignas(8) unsigned char bytes[PASSING_MAX];
	size_t length;
	int fds[PASSING_FDS]; /* close-on-exec; the receiver closes them */
	unsigned fd_count;
};

/* Sends a packet without waiting. -EAGAIN: the socket has no room for it. */
must_check int passing_send(int fd, const void *message, size_t length, const int *fds, unsigned fd_count,
			    struct error *err);
/* Receives the next packet. -EAGAIN: none came within timeout ms (0: does not wait); -ECONNRESET: the other side has
 * ended; -EPROTO: it is longer than PASSING_MAX, or has more than `most` descriptors, which are then closed. */
must_check int passing_receive(int fd, int timeout, unsigned most, struct passing_packet *ret, struct error *err);
/* Closes the descriptors that are still in the packet. */
void passing_close(struct passing_packet *packet);
