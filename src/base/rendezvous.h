/* SPDX-License-Identifier: MIT */
/* Where others find a daemon: sockets in a folder that only root, or the mounting user, can change. So nobody else can
 * take their names. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"

#define RENDEZVOUS_PREFIX 48u /* bytes of a prefix, with its NUL */

struct rendezvous {
	int folder;   /* -1: there is none */
	int listener; /* SOCK_SEQPACKET, non-blocking */
	char name[RENDEZVOUS_PREFIX + 24]; /* in the folder */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

#define RENDEZVOUS_NONE ((struct rendezvous){ .folder = -1, .listener = -1 })

/* Makes the folder where there is none, removes sockets there that nobody listens at any more, and listens at a new
 * one, whose name begins with the prefix: digits, colons, and a dash at its end, or nothing. mode: who may connect. */
must_check int rendezvous_open(const char *prefix, mode_t mode, struct rendezvous *ret, struct error *err);
/* Removes the socket's name: nobody comes any more. Any thread. */
void rendezvous_withdraw(const struct rendezvous *rendezvous);
/* And the socket. */
void rendezvous_close(struct rendezvous *rendezvous);

/* A connection to the socket of this user's daemon, or root's, whose name begins with the prefix, without waiting; -1:
 * there is none. */
int rendezvous_connect(uid_t owner, const char *prefix);
