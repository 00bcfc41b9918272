/* SPDX-License-Identifier: MIT */
/* The sockets at which programs find a daemon. Their folder can be changed only by root or the mounting user, so that
 * no other user can take their names. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"

#define RENDEZVOUS_PREFIX 48u /* bytes of a prefix, including its NUL */

struct rendezvous {
	int folder;   /* -1: none */
	int listener; /* SOCK_SEQPACKET, non-blocking */
	char name[RENDEZVOUS_PREFIX + 24]; /* of the socket, in the folder */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

#define RENDEZVOUS_NONE ((struct rendezvous){ .folder = -1, .listener = -1 })

/* Creates the folder if needed, removes its dead sockets, and listens on a new one whose name begins with prefix.
 * prefix is empty, or digits and colons with a dash at the end. mode says who may connect. */
must_check int rendezvous_open(const char *prefix, mode_t mode, struct rendezvous *ret, struct error *err);
/* Takes over a socket that another process opened, with its name and path: *ret owns both descriptors then.
 * RENDEZVOUS_NONE, and they are closed, if one of them is -1 or the name is none that rendezvous_open() gives. */
void rendezvous_adopt(struct rendezvous *ret, int folder, int listener, const char *name, const char *path);
/* Removes the socket's name, so that no new client can connect. Any thread may call it. */
void rendezvous_withdraw(const struct rendezvous *rendezvous);
/* Removes the socket's name, if it is still there, and closes folder and socket. */
void rendezvous_close(struct rendezvous *rendezvous);

/* Connects without waiting to a socket whose name begins with prefix, of owner's daemon or root's. Returns -1 if
 * there is none. */
int rendezvous_connect(uid_t owner, const char *prefix);
