/* SPDX-License-Identifier: MIT */
/* The socket that the exporter listens on. */
#pragma once
#include "base/error.h"

#define LISTENER_NAME_SIZE 80

/* address: "ADDRESS:PORT", both numeric, "[ADDRESS]:PORT" for IPv6, ":PORT" for every address. Port 0 takes any free
 * port. ret_name: the address it got. */
must_check int listener_open(const char *address, int *ret_fd, char ret_name[LISTENER_NAME_SIZE], struct error *err);
/* Checks the syntax of such an address. */
int listener_check(const char *address, struct error *err);
