/* SPDX-License-Identifier: MIT */
/* Runs the process that decodes archives, and reads from the pipe to it. */
#pragma once
#include <sys/types.h>

#include "source/archive/tar_stream.h"
#include "source/xattrs.h"
#include "spill/temp.h"

struct tar_child {
	pid_t pid;
	int fd; /* its stream, for tar_child_read() */
	int report; /* what the process that fetches archives says, which is not closed with the child; -1: nothing */
};

struct tar_child_setup {
	const char *const *names; /* names of archives; "-" is standard input */
	unsigned count;
	bool nested, require_end, no_data; /* see tar_decode.h */
	const char *zip_charset;  /* see tar_charset.h */
	const struct temp *temp;
	const struct xattrs_wanted *xattrs;
	bool (*is_fetched)(const char *name); /* whether an archive comes through fetched */
	int fetched, report; /* from the process that fetches archives, see tar_frames.h and tar_stream.h; -1: none */
};

/* Opens all archives and forks. Call it before any thread is started. */
must_check int tar_child_open(const struct tar_child_setup *setup, struct tar_child *ret, struct error *err);
void tar_child_stop(const struct tar_child *child); /* kills the process, so its stream ends; any thread may call it */
void tar_child_close(struct tar_child *child); /* ends the process; a zeroed one may be closed, too */
/* Reads from the pipe: a tar_stream_source whose argument is a struct tar_child. The stream ends with a message, so the
 * end of the pipe is an error, which says how the process ended. */
int64_t tar_child_read(void *child, void *to, size_t room, struct error *err);
/* Sets the error of a source that open() refused, and returns -errno. */
int tar_child_cannot_open(const char *name, struct error *err);
