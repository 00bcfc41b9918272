/* SPDX-License-Identifier: MIT */
/* Reads the metrics of one mount in a child process: a daemon that does not answer blocks only that child, which may
 * then not even die of SIGKILL. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/program/child.h"
#include "exporter/mounts.h"

#define SCRAPE_MOST (512u << 10) /* bytes of text; a mount of 255 members has about 200 KiB */

struct scrape {
	struct child child;
	char *text; /* SCRAPE_MOST + 2 bytes */
	size_t length;
};

/* Starts the child process. Fails only for lack of memory, descriptors or processes. */
must_check int scrape_start(struct scrape *scrape, const struct mounts_entry *mount, struct error *err);
/* Reads what the child sent. Call it when child.fd is readable. True: the text is complete, or reading it failed. */
bool scrape_step(struct scrape *scrape);
/* Ends the reading: returns 0 and leaves scrape->length bytes of text, or a negative errno; -ENOENT: another filesystem
 * covers the mountpoint. */
must_check int scrape_finish(struct scrape *scrape);
/* Kills the process and drops its text. */
void scrape_give_up(struct scrape *scrape);
