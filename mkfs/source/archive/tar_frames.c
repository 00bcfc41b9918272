/* SPDX-License-Identifier: MIT */
/* Writes frames and reads them. Both ends are the same program, so a length has its byte order. */
#include "source/archive/tar_frames.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/transfer.h"

#define TAR_FRAMES_MAX (1u << 30) /* bytes of a frame */

int tar_frames_write(int fd, const void *bytes, size_t length, struct error *err)
{
	const uint8_t *next = bytes;
	uint32_t step;

	for (; length; next += step, length -= step) {
		step = length < TAR_FRAMES_MAX ? (uint32_t)length : TAR_FRAMES_MAX;
		if (transfer_write(fd, &step, sizeof(step)) < 0 || transfer_write(fd, next, step) < 0)
			return error_errno(err, "cannot write to the process that decodes archives");
	}
	return 0;
}

int tar_frames_end(int fd, struct error *err)
{
	const uint32_t empty = 0;

	if (transfer_write(fd, &empty, sizeof(empty)) < 0)
		return error_errno(err, "cannot write to the process that decodes archives");
	return 0;
}

/* Reads the length of the next frame. Returns 0, or -1 with a reason. */
static int tar_frames_head(struct tar_frames *frames, const char **reason)
{
	ssize_t n = transfer_read(frames->fd, &frames->left, sizeof(frames->left));

	if (n == sizeof(frames->left)) {
		frames->ended = !frames->left;
		return 0;
	}
	*reason = n < 0 ? strerror(errno) : TAR_FRAMES_GONE;
	return -1;
}

int64_t tar_frames_read(struct tar_frames *frames, void *to, size_t room, const char **reason)
{
	ssize_t n;

	if (!frames->ended && !frames->left && tar_frames_head(frames, reason) < 0)
		return -1;
	if (frames->ended)
		return 0;
	do
		n = read(frames->fd, to, room < frames->left ? room : frames->left);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		*reason = n < 0 ? strerror(errno) : TAR_FRAMES_GONE;
		return -1;
	}
	frames->left -= (uint32_t)n;
	return n;
}
