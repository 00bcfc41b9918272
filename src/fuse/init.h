/* SPDX-License-Identifier: MIT */
/* INIT: what the kernel offers and what we take of it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define INIT_MAX_PAGES    256u /* pages of the largest READ: 1 MiB */
#define INIT_READ_MAX     (INIT_MAX_PAGES * 4096u)
#define INIT_READAHEAD_KB 1024u

struct init {
	uint32_t minor;   /* the kernel's protocol */
	uint64_t offered; /* flags */
	uint64_t taken;
	bool ring;       /* the kernel waits for the queues of FUSE over io_uring from now on */
};

/* Waits for INIT on the mount's descriptor and answers it. The first thing after the mount. ring: take FUSE over
 * io_uring when it is offered. */
must_check int init_negotiate(int fd, bool ring, struct init *ret, struct error *err);
/* Lets the kernel read ahead INIT_READAHEAD_KB on the mount; INIT can only lower it. Needs root. */
must_check int init_raise_readahead(const char *mountpoint, struct error *err);
