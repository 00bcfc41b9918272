/* SPDX-License-Identifier: MIT */
/* Who is at the other end of a connection: another machine by its address, a user of this machine by number. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define PEER_NOBODY UINT32_MAX

struct peer {
	uint8_t address[16]; /* IPv6, or IPv4 as ::ffff:A.B.C.D */
	uint32_t uid;        /* PEER_NOBODY: not on this machine, closed already, or the kernel does not say */
};

/* Asks the kernel for the users of connections (sock_diag(7)). -1 where that is not allowed: all local users are then
 * one peer. */
int peer_open(void);
struct peer peer_of(int diag, int fd);
bool peer_is_same(const struct peer *a, const struct peer *b);
/* Whether the other end was closed, and nothing is left to read that it said before. */
bool peer_is_gone(int fd);
