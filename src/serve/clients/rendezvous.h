/* SPDX-License-Identifier: MIT */
/* Where clients find the daemon: a socket of its own in a folder that only root, or the mounting user, can change. */
#pragma once
#include <sys/un.h>

#include "base/error.h"

struct rendezvous {
	int folder;   /* -1: there is none */
	int listener; /* SOCK_SEQPACKET, non-blocking */
	char name[32]; /* in the folder */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

#define RENDEZVOUS_NONE ((struct rendezvous){ .folder = -1, .listener = -1 })

/* Makes the folder where there is none, removes sockets there that nobody listens at any more, and listens at a new
 * one. Everybody may connect. */
must_check int rendezvous_open(struct rendezvous *ret, struct error *err);
/* Removes the socket's name: nobody comes any more. Any thread. */
void rendezvous_withdraw(const struct rendezvous *rendezvous);
/* And the socket. */
void rendezvous_close(struct rendezvous *rendezvous);
