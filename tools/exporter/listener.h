/* SPDX-License-Identifier: MIT */
/* Opens the socket that the exporter listens on. */
#pragma once
#include "base/error.h"

#define LISTENER_NAME_SIZE 80

/* Listens on "ADDRESS:PORT", both numeric, "[ADDRESS]:PORT" for IPv6, ":PORT" for every address. Port 0 takes any free
 * port. ret_name: the address of the socket. */
must_check int listener_open(const char *address, int *ret_fd, char ret_name[LISTENER_NAME_SIZE], struct error *err);
/* Checks the syntax of an address for listener_open(). */
int listener_check(const char *address, struct error *err);
