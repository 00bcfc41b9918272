/* SPDX-License-Identifier: MIT */
/* Where a target listens: tcp://ADDRESS[:PORT], rdma://ADDRESS[:PORT], loop. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

#define PORTAL_PORT "4420" /* of NVMe over TCP and RDMA, and of Linux's target for discovery too */

struct portal {
	char transport[8]; /* tcp, rdma, loop */
	char address[80];  /* of IPv6 without brackets; empty for loop */
	char service[8];   /* port; empty for loop */
};

/* Addresses are numeric or host names; those of IPv6 stand in brackets. */
must_check int portal_parse(const char *text, struct portal *ret, struct error *err);
/* The same with a numeric address, the first one of a host name, as the kernel takes and shows it. */
must_check int portal_resolve(const struct portal *portal, struct portal *ret, struct error *err);
#define PORTAL_TEXT_SIZE 112
/* As portal_parse() takes it. Returns text. */
const char *portal_text(const struct portal *portal, char text[PORTAL_TEXT_SIZE]);
/* Whether a controller with this transport, address and service is connected to it. */
bool portal_is(const struct portal *portal, const char *transport, const char *address, const char *service);
