/* SPDX-License-Identifier: MIT */
/* Runs the process that fetches archives: it alone has the network, and what a URL or a server may not tell others. */
#pragma once
#include "source/archive/tar_child.h"

struct fetcher_setup {
	char *const *sources; /* those that are no URLs are passed over */
	unsigned count;
	const char *ca_file;       /* see http.h, as is timeout */
	unsigned retries, timeout; /* see object.h */
};

/* The process, if it is needed. Its fd has archives as tar_frames.h has them. */
struct fetcher {
	struct tar_child process;
};

#define FETCHER_NONE ((struct fetcher){ .process = { .fd = -1, .report = -1 } })

/* Refuses URLs that cannot be right, and forks. Call it before any thread is started. */
must_check int fetcher_open(const struct fetcher_setup *setup, struct fetcher *ret, struct error *err);
void fetcher_close(struct fetcher *fetcher); /* ends the process; FETCHER_NONE may be closed, too */
