/* SPDX-License-Identifier: MIT */
/* Reads the metrics of one mount in a process of its own: a daemon that does not answer holds back that process, which
 * then cannot be killed either, and nobody else. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "exporter/mounts.h"

#define READER_MOST (512u << 10) /* bytes of text; a mount of 255 members says some 200 KiB */

struct reader {
	pid_t process; /* 0: it has ended */
	int pipe;      /* -1: closed */
	char *text;    /* READER_MOST + 2 bytes */
	size_t length;
};

/* It cannot fail but for want of memory, descriptors or processes. */
must_check int reader_start(struct reader *reader, const struct mounts_entry *mount, struct error *err);
/* The pipe has something to read. True: the text is complete, or reading it failed. */
bool reader_step(struct reader *reader);
/* What came of it: 0, with reader->length bytes of text, or a negative errno: -ENOENT when another filesystem lies over
 * the mountpoint. */
must_check int reader_finish(struct reader *reader);
/* Kills it and takes no more of it. */
void reader_give_up(struct reader *reader);
/* True once the process is no more. Never waits. */
bool reader_is_gone(struct reader *reader);
