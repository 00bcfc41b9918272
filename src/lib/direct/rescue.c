/* SPDX-License-Identifier: MIT */
/* Finds the file by its path: below the version's directory in .datasetfs/versions, where a moved version is found,
 * too, or at the mount's root. The inode number tells whether it is the same file. */
#include "lib/direct/rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/transfer.h"
#include "datasetfs/control.h"
#include "image/extent.h"
#include "lib/beneath.h"
#include "lib/direct/daemon/link.h"
#include "lib/direct/place.h"
#include "read/park.h"

#define RESCUE_PATH 65536u

/* Checks that a number found in the mount is this file of the version. A version that compaction moved has another
 * sequence and the same UUID. */
static int rescue_check(const struct direct *direct, uint64_t id, uint64_t found, struct error *err)
{
	const uint64_t ordinals = (UINT64_C(1) << DSFS_ORDINAL_BITS) - 1;

	if (found == id)
		return 0;
	if ((found & ordinals) == (id & ordinals) &&
	    direct_has(direct, found >> DSFS_ORDINAL_BITS, direct->opened.info.uuid))
		return 0;
	return error_set(err, -ESTALE, "the mount has another file there, with number %" PRIu64, found);
}

static int rescue_open(int mount, const struct direct *direct, uint64_t id, const char *path, struct error *err)
{
	auto_close int fd = beneath_open(mount, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, false, err);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	r = rescue_check(direct, id, st.st_ino, err);
	return r < 0 ? r : take_fd(&fd);
}

static int rescue_get(int fd, uint64_t offset, uint8_t *bytes, size_t size, struct error *err)
{
	ssize_t n = transfer_read_at(fd, bytes, size, offset);

	if (n < 0)
		return error_errno(err, "read");
	return (size_t)n < size ? error_set(err, -EIO, "the file ends at %" PRIu64, offset + (uint64_t)n) : 0;
}

/* Reads and verifies one chunk. offset: its beginning in the file; bytes: room for all of it. */
static int rescue_chunk(int fd, const struct chunk *chunk, uint64_t offset, uint8_t *bytes, struct error *err)
{
	const struct iovec all = { bytes, chunk->length };
	int r;

	if (chunk_is_hole(chunk)) {
		memset(bytes, 0, chunk->length);
		return 0;
	}
	r = rescue_get(fd, offset, bytes, chunk->length, err);
	return r < 0 ? r : chunk_verify(chunk, &all, 1, err);
}

/* Reads whole chunks, which can be verified: the mount is trusted no more than the device. */
static int rescue_fill(int fd, const struct read_request *request, struct error *err)
{
	const struct index *index = request->version.index;
	auto_free uint8_t *bytes = malloc((size_t)1 << index->chunk_log);
	struct extent_cursor cursor;
	struct extent_piece piece;
	uint64_t done = 0, size;
	int r;

	if (!bytes)
		return error_no_memory(err);
	extent_map(&cursor, index, &request->inode, request->offset, request->size, &size);
	while ((r = extent_next(&cursor, &piece, err)) > 0) {
		r = rescue_chunk(fd, &piece.chunk, request->offset + done - piece.skip, bytes, err);
		if (r < 0)
			return r;
		memcpy(request->payload + done, bytes + piece.skip, piece.want);
		done += piece.want;
	}
	return r;
}

static int rescue_by_path(int mount, const struct direct *direct, const struct read_request *request, const char *path,
			  struct error *err)
{
	uint64_t id = direct->opened.info.sequence << DSFS_ORDINAL_BITS | request->inode.ordinal;
	auto_close int fd = rescue_open(mount, direct, id, path, err);

	return fd < 0 ? fd : rescue_fill(fd, request, err);
}

/* Opens the mount while it is served: after that another mount may have the same path and device number. */
static int rescue_mount(struct link *link, int *ret, struct error *err)
{
	const struct link_place *place = link_place(link);
	auto_close int fd = open(place->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", place->root);
	if (st.st_dev != place->device || !link_goes_on(link))
		return error_set(err, -ENOTCONN, "it is not mounted on '%s' any more", place->root);
	*ret = take_fd(&fd);
	return 0;
}

static int rescue_try(const struct direct *direct, const struct read_request *request, struct error *err)
{
	uint64_t id = direct->opened.info.sequence << DSFS_ORDINAL_BITS | request->inode.ordinal;
	auto_free char *path = malloc(RESCUE_PATH);
	auto_close int mount = -1;
	int prefix, r;

	if (!path)
		return error_no_memory(err);
	prefix = snprintf(path, RESCUE_PATH, DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_VERSIONS "/%s/",
			  direct->opened.info.label);
	r = place_path((struct opened *)(uintptr_t)&direct->opened, id, path + prefix, RESCUE_PATH - (size_t)prefix,
		       err);
	if (r >= 0)
		r = rescue_mount(direct->link, &mount, err);
	if (r < 0)
		return r;
	/* Most mounts serve this version at their root; .datasetfs/versions has it even after a move. */
	if (rescue_by_path(mount, direct, request, path + prefix, err) == 0)
		return 0;
	return rescue_by_path(mount, direct, request, path, err);
}

bool rescue_knows_better(const struct direct *direct)
{
	return direct->link && link_has_moved(direct->link) && link_lives(direct->link);
}

/* Whether the mount may succeed: it fails, too, where the path to the device fails, and would wait much longer. */
static bool rescue_may_help(const struct direct *direct, int code)
{
	if (!direct->link || code == -ENOMEM)
		return false;
	return !park_is_path_error(code) || rescue_knows_better(direct);
}

int rescue_read(const struct direct *direct, const struct read_request *request, struct error *err)
{
	struct error why = { 0 };

	if (!rescue_may_help(direct, err->code))
		return err->code;
	if (rescue_try(direct, request, &why) == 0)
		return 0;
	return error_wrap(err, err->code, "through the mount: %s; past it", why.reason);
}
