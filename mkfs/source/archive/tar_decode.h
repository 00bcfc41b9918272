/* SPDX-License-Identifier: MIT */
/* Decodes archives with libarchive and writes their contents to a pipe, see tar_stream.h. Runs in a child process
 * without rights: nobody has to trust this code. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct tar_decode_setup {
	const int *fds;           /* of the archives, in their order, and their names for messages */
	const char *const *names;
	size_t count;
	int out;
	int spool;    /* a file for zip archives that come through a pipe; -1: there are none */
	bool nested;  /* unpack archives inside archives */
	bool no_data; /* content is not wanted */
};

/* Call it before the process loses its rights: takes times without a zone for UTC, and loads what names need. */
void tar_decode_prepare(void);
/* Ends with TAR_STREAM_END or TAR_STREAM_FAILED; returns the status to exit with. */
int tar_decode_run(const struct tar_decode_setup *setup);
