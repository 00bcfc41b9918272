/* SPDX-License-Identifier: MIT */
/* Implements the public calls that return when everything is read. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "datasetfs/format.h"
#include "lib/api/handle.h"
#include "lib/reason.h"

int dsfs_read_many(struct dsfs *fs, struct dsfs_read *reads, size_t count, struct dsfs_arena *arena)
{
	struct error *err = reason_begin();
	struct opened *opened = handle_get(fs);
	int r = opened->backend->read_many(opened, reads, count, arena, err);

	handle_put(opened);
	return r;
}

ssize_t dsfs_pread(struct dsfs *fs, uint64_t id, void *buffer, size_t size, uint64_t offset)
{
	struct dsfs_read read = { .id = id, .offset = offset, .size = size, .buffer = buffer };
	int r = dsfs_read_many(fs, &read, 1, NULL);

	return r < 0 ? r : read.result;
}

/* Reads a file into memory with room for whole blocks of the device, so that it can write there directly. */
static int reads_whole(struct opened *opened, uint64_t id, uint64_t size, void **ret, struct error *err)
{
	uint64_t room = round_up(size + 1, DSFS_BLOCK);
	struct dsfs_read read = { .id = id, .size = room };
	auto_free char *contents = NULL;
	int r;

	if (room < size || room > SIZE_MAX / 2)
		return error_set(err, -EFBIG, "a file of %" PRIu64 " bytes", size);
	contents = aligned_alloc(DSFS_BLOCK, room);
	if (!contents)
		return error_no_memory(err);
	read.buffer = contents;
	r = opened->backend->read_many(opened, &read, 1, NULL, err);
	if (r < 0)
		return r;
	if ((uint64_t)read.result != size) /* the mount lied about the size */
		return error_set(err, -EIO, "a file of %" PRIu64 " bytes had %" PRId64 " when it was read", size,
				 read.result);
	contents[size] = 0;
	*ret = take_ptr(&contents);
	return 0;
}

ssize_t dsfs_read_file(struct dsfs *fs, const char *path, void **ret)
{
	struct error *err = reason_begin();
	struct opened *opened = handle_get(fs);
	struct stat st = { 0 };
	uint64_t id = 0;
	int r = opened->backend->lookup(opened, path, &id, err);

	if (r == 0)
		r = opened->backend->stat(opened, id, &st, err);
	if (r == 0)
		r = reads_whole(opened, id, (uint64_t)st.st_size, ret, err);
	handle_put(opened);
	return r < 0 ? r : st.st_size;
}
