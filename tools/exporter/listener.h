/* SPDX-License-Identifier: MIT */
/* The socket at which the exporter is asked. */
#pragma once
#include "base/error.h"

#define LISTENER_NAME_SIZE 80

/* address: "ADDRESS:PORT" with a number for both, "[ADDRESS]:PORT" for IPv6, ":PORT" for every address. Port 0 is any
 * free one. ret_name: what it is then. */
must_check int listener_open(const char *address, int *ret_fd, char ret_name[LISTENER_NAME_SIZE], struct error *err);
/* That it is such an address. */
int listener_check(const char *address, struct error *err);
