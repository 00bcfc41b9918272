/* SPDX-License-Identifier: MIT */
/* Counts free runs in the volume, and blocks of its file. */
#include "volume/room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/log.h"

static const struct file_source *room_file(const struct transaction *transaction)
{
	return transaction->members[transaction_first(transaction)].file;
}

static int room_open(const struct transaction *transaction, struct space *ret, struct error *err)
{
	bool is_device = room_file(transaction)->geometry.is_block_device;
	uint64_t file_size = is_device ? 0 : source_size(transaction_source(transaction), 0);

	return space_open_inside(ret, &transaction->catalogue, &transaction->super, file_size, err);
}

/* Of several members: segments that no group has. */
static uint64_t room_outside_groups(const struct transaction *transaction)
{
	const struct members *members = &transaction->catalogue.members;
	uint64_t segments = 0;

	for (uint32_t i = 0; i < members->count; i++)
		segments += members->list[i].size >> members->segment_log;
	return segments > members->column_count ? (segments - members->column_count) << members->segment_log : 0;
}

int room_free(const struct transaction *transaction, uint64_t *ret, struct error *err)
{
	struct space space;
	int r;

	if (transaction->catalogue.members.count) {
		*ret = room_outside_groups(transaction);
		return 0;
	}
	r = room_open(transaction, &space, err);
	if (r == 0)
		*ret = space_free(&space);
	space_close(&space);
	return r;
}

uint64_t room_gained(const struct transaction *transaction, uint64_t before)
{
	struct error why = { 0 };
	uint64_t after = 0;

	if (room_free(transaction, &after, &why) < 0)
		log_warn("the change is in force, but how much became free is not known: %s, ignoring", why.reason);
	return after > before ? after - before : 0;
}

/* What is free inside of a file may be holes, which take blocks as growth does. */
static int room_spare(const struct transaction *transaction, uint64_t *ret, struct error *err)
{
	uint64_t former_size = transaction->members[transaction_first(transaction)].former_size;
	uint64_t inside = 0, has, spare;
	struct statvfs fs;
	struct stat st;
	int r;

	r = room_free(transaction, &inside, err);
	if (r < 0)
		return r;
	if (fstat(room_file(transaction)->fd, &st) < 0 || fstatvfs(room_file(transaction)->fd, &fs) < 0)
		return error_errno(err, "cannot measure the filesystem of '%s'", transaction->path);
	has = (uint64_t)st.st_blocks * 512 + inside;
	spare = has > former_size ? has - former_size : 0;
	spare = (spare < inside ? spare : inside) + (uint64_t)fs.f_bavail * fs.f_frsize;
	*ret = fs.f_blocks ? spare : UINT64_MAX; /* no blocks: a filesystem that does not know */
	return 0;
}

int room_writable(const struct transaction *transaction, uint64_t *ret, struct error *err)
{
	uint64_t room = allocator_free(&transaction->allocator), spare = UINT64_MAX;
	int r = 0;

	if (!room_file(transaction)->geometry.is_block_device)
		r = room_spare(transaction, &spare, err);
	if (r == 0)
		*ret = spare < room ? spare : room;
	return r;
}

static int room_punch(const struct transaction *transaction, const struct space *space, uint64_t *ret_bytes,
		      struct error *err)
{
	for (uint32_t i = 0; i < space->count; i++) {
		const struct space_run *run = &space->runs[i];

		if (fallocate(room_file(transaction)->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)run->start,
			      (off_t)(run->end - run->start)) < 0)
			return error_errno(err, "cannot make a hole at offset %" PRIu64, run->start);
		*ret_bytes += run->end - run->start;
	}
	return 0;
}

int room_give_back(const struct transaction *transaction, uint64_t *ret_bytes, struct error *err)
{
	struct space space;
	int r;

	*ret_bytes = 0;
	r = room_open(transaction, &space, err);
	if (r == 0)
		r = room_punch(transaction, &space, ret_bytes, err);
	space_close(&space);
	return r;
}
