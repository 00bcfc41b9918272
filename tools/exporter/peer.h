/* SPDX-License-Identifier: MIT */
/* Identifies the other end of a connection: another machine by its address, a user of this machine by number. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define PEER_NOBODY UINT32_MAX

struct peer {
	uint8_t address[16]; /* IPv6, or IPv4 as ::ffff:A.B.C.D */
	uint32_t uid;        /* PEER_NOBODY: not on this machine, closed already, or the kernel does not say */
};

/* Opens a socket to ask the kernel for the users of connections (sock_diag(7)). -1 where that is not allowed: all local
 * users are then one peer. */
int peer_open(void);
/* Returns the peer of the connection fd. diag: the result of peer_open(). */
struct peer peer_of(int diag, int fd);
bool peer_is_same(const struct peer *a, const struct peer *b);
/* Returns whether the other end was closed and everything that it sent was read. */
bool peer_is_gone(int fd);
