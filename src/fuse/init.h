/* SPDX-License-Identifier: MIT */
/* Negotiates INIT: what the kernel offers and what datasetfs takes of it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define INIT_READ_MAX     (1u << 20) /* bytes of the largest READ */
#define INIT_READAHEAD_KB 1024u

struct init {
	uint32_t minor;   /* the kernel's protocol */
	uint64_t offered; /* flags */
	uint64_t taken;
	bool ring;       /* the kernel now waits for the queues of FUSE over io_uring */
};

/* Returns the largest READ in pages of the kernel, which may have 64 KiB on arm64. The kernel takes a READ that is cut
 * short for the end of the file. */
uint16_t init_max_pages(size_t page_size);
/* Waits for INIT on the mount's descriptor and answers it. Must come first after the mount. ring: take FUSE over
 * io_uring if it is offered. */
must_check int init_negotiate(int fd, bool ring, struct init *ret, struct error *err);
/* Raises the mount's read-ahead to INIT_READAHEAD_KB, because INIT can only lower it. Needs root. */
must_check int init_raise_readahead(const char *mountpoint, struct error *err);
