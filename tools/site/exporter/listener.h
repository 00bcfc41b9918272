/* SPDX-License-Identifier: MIT */
/* Opens the socket that the exporter listens on. */
#pragma once
#include "base/error.h"

#define LISTENER_NAME_SIZE 160

/* Takes the socket that the service manager passed, see sd_listen_fds(3), or else listens on "ADDRESS:PORT", both
 * numeric, "[ADDRESS]:PORT" for IPv6, ":PORT" for every address. Port 0 takes any free port. ret_name: the address of
 * the socket as in a URL; "unix:PATH:" for a unix socket. */
must_check int listener_open(const char *address, int *ret_fd, char ret_name[LISTENER_NAME_SIZE], struct error *err);
/* Checks the syntax of an address for listener_open(). */
int listener_check(const char *address, struct error *err);
