/* SPDX-License-Identifier: MIT */
/* Several archives in one pipe, each as frames (a length, as many bytes) up to an empty frame. However many are
 * fetched, the process that decodes them needs one descriptor, and knows an archive that broke off from one that has
 * ended. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TAR_FRAMES_GONE "the process that fetches archives has ended"

/* The archive that is being read; the next one begins with a new struct. */
struct tar_frames {
	int fd;
	uint32_t left; /* bytes of the frame that are still to be read */
	bool ended;    /* the archive has */
};

/* Writes bytes of the archive. A function that writes fails only if the reader has ended. */
must_check int tar_frames_write(int fd, const void *bytes, size_t length, struct error *err);
/* Ends the archive. */
must_check int tar_frames_end(int fd, struct error *err);
/* Reads the next bytes of the archive. Returns their number, 0 at its end; negative with a reason. */
int64_t tar_frames_read(struct tar_frames *frames, void *to, size_t room, const char **reason);
