/* SPDX-License-Identifier: MIT */
/* The address at which an NVMe target listens: tcp://ADDRESS[:PORT], rdma://ADDRESS[:PORT], loop. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

#define PORTAL_PORT "4420" /* default of NVMe over TCP and RDMA, and of Linux's target for discovery too */

struct portal {
	char transport[8]; /* tcp, rdma, loop */
	char address[80];  /* IPv6 without brackets; empty for loop */
	char service[8];   /* port; empty for loop */
};

/* Parses a portal. Addresses are numeric or host names; IPv6 addresses are in brackets. */
must_check int portal_parse(const char *text, struct portal *ret, struct error *err);
/* Replaces a host name by its first numeric address, the form that the kernel takes and shows. */
must_check int portal_resolve(const struct portal *portal, struct portal *ret, struct error *err);
#define PORTAL_TEXT_SIZE 112
/* Formats a portal the way portal_parse() accepts it, and returns text. */
const char *portal_text(const struct portal *portal, char text[PORTAL_TEXT_SIZE]);
/* True if a controller with this transport, address and service is connected to the portal. */
bool portal_is(const struct portal *portal, const char *transport, const char *address, const char *service);
