/* SPDX-License-Identifier: MIT */
/* Decodes archives with libarchive and writes their contents to a pipe, see tar_stream.h. It runs in a child process
 * without rights, so its output is not trusted. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "source/xattrs.h"

struct tar_decode_setup {
	const int *fds;           /* of the archives, in their order; -1: the next one in fetched */
	const char *const *names; /* for messages */
	size_t count;
	int fetched;  /* archives as tar_frames.h has them; -1: there are none */
	int out;
	int spool;    /* a file for zip archives that come through a pipe; -1: there are none */
	bool nested;  /* unpack archives inside archives */
	bool require_end; /* a tar archive must have the mark of its end */
	bool no_data; /* content is not wanted */
	const struct xattrs_wanted *xattrs;
};

/* Makes times without a zone count as UTC, and loads the locale and the character set for names. Call it before the
 * process loses its rights. */
void tar_decode_prepare(const char *zip_charset);
/* Decodes all archives, and ends the stream with TAR_STREAM_END or TAR_STREAM_FAILED. Returns the exit status. */
int tar_decode_run(const struct tar_decode_setup *setup);
