/* SPDX-License-Identifier: MIT */
/* Runs the process that fetches archives: it alone has the network, and what a URL or a server may not tell others. */
#pragma once
#include "source/archive/tar_child.h"

struct fetcher_setup {
	char *const *sources; /* those that are not fetched are passed over */
	unsigned count;
	const char *endpoint, *region; /* of s3://, see bucket.h; NULL: as the environment says */
	const char *ca_file;       /* see http.h, as is timeout */
	unsigned retries, timeout; /* see object.h */
	unsigned requests;         /* see prefix.h, as are the next three */
	const struct filter *filter;
	bool no_data, refuse_odd;
};

/* The process, if it is needed. Its fd has archives as tar_frames.h has them. */
struct fetcher {
	struct tar_child process;
};

#define FETCHER_NONE ((struct fetcher){ .process = { .fd = -1, .report = -1 } })

/* Returns whether the source is fetched: https://, http:// or s3://. */
bool fetcher_fetches(const char *source);
/* Refuses URLs that cannot be right, and forks. Call it before any thread is started. */
must_check int fetcher_open(const struct fetcher_setup *setup, struct fetcher *ret, struct error *err);
/* Overwrites what may be secret in the environment and in the sources, which the process that fetches has a copy of:
 * from here on no message shows it, nor does ps(1), nor has a process that is forked. */
void fetcher_forget(char *const *sources, unsigned count);
void fetcher_close(struct fetcher *fetcher); /* ends the process; FETCHER_NONE may be closed, too */
