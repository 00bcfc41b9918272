/* SPDX-License-Identifier: MIT */
/* Negotiates INIT: decides which of the features that the kernel offers datasetfs uses. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define INIT_READ_MAX     (1u << 20) /* bytes of the largest READ */
#define INIT_READAHEAD_KB 1024u

struct init {
	uint32_t minor;   /* the kernel's protocol */
	uint64_t offered; /* flags */
	uint64_t taken;
	bool resends;    /* the kernel sends unanswered requests again if asked (resend.h); that is no flag to take */
	bool ring;       /* the kernel now waits for the queues of FUSE over io_uring */
};

/* Returns the size of the largest READ in pages of page_size bytes, which may be 64 KiB on arm64. The kernel must not
 * ask for more, as it takes a short reply for the end of the file. */
uint16_t init_max_pages(size_t page_size);
/* Features to take if they are offered. */
struct init_wishes {
	bool ring;  /* FUSE over io_uring */
	bool idmap; /* idmapped copies of the mount, as in containers with user namespaces; then no request names its
		     * sender's user and group */
};

/* Waits for INIT on the mount's descriptor and answers it. Must come first after the mount. */
must_check int init_negotiate(int fd, struct init_wishes wishes, struct init *ret, struct error *err);
/* Raises the mount's read-ahead to INIT_READAHEAD_KB, because INIT can only lower it. Needs root. */
must_check int init_raise_readahead(dev_t device, struct error *err);
