/* SPDX-License-Identifier: MIT */
/* Reads the metrics of one mount in a child process: a daemon that does not answer blocks only that child, which may
 * then not even die of SIGKILL. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/program/child.h"
#include "exporter/mounts.h"

#define READER_MOST (512u << 10) /* bytes of text; a mount of 255 members has about 200 KiB */

struct reader {
	struct child child;
	char *text; /* READER_MOST + 2 bytes */
	size_t length;
};

/* Starts the process. Fails only for lack of memory, descriptors or processes. */
must_check int reader_start(struct reader *reader, const struct mounts_entry *mount, struct error *err);
/* Reads what the child sent. Call it when child.fd is readable. True: the text is complete, or reading it failed. */
bool reader_step(struct reader *reader);
/* Ends the reading: returns 0 and leaves reader->length bytes of text, or a negative errno; -ENOENT: another filesystem
 * covers the mountpoint. */
must_check int reader_finish(struct reader *reader);
/* Kills the process and drops its text. */
void reader_give_up(struct reader *reader);
