/* SPDX-License-Identifier: MIT */
/* Counts free runs in the volume, and blocks of its file. */
#include "volume/transaction/room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "base/round.h"
#include "image/members/address.h"

static bool room_is_device(const struct transaction *transaction, uint32_t member)
{
	const struct file_source *file = transaction->members[member].file; /* NULL: the member is missing */

	return file && file->geometry.is_block_device;
}

static int room_open(const struct transaction *transaction, struct space *ret, struct error *err)
{
	uint64_t file_size = room_is_device(transaction, 0) ? 0 : source_size(transaction_source(transaction), 0);

	return space_open_inside(ret, &transaction->catalogue, &transaction->super, file_size, err);
}

/* Returns the room in a volume of several members: free segments and the rest of groups. */
static uint64_t room_in_members(const struct transaction *transaction)
{
	const struct members *members = &transaction->catalogue.members;
	uint64_t segment = UINT64_C(1) << members->segment_log, segments = 0, left = 0;

	for (uint32_t i = 0; i < members->count; i++)
		segments += round_up(members->list[i].size, segment) / segment;
	for (uint32_t i = 0; i < members->group_count; i++)
		left += segment - members->groups[i].tail;
	return (segments > members->column_count ? (segments - members->column_count) * segment : 0) + left;
}

int room_free(const struct transaction *transaction, uint64_t *ret, struct error *err)
{
	struct space space;
	int r;

	if (transaction->catalogue.members.count) {
		*ret = room_in_members(transaction);
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

struct room_files {
	uint64_t has, size; /* bytes of allocated blocks, and of the files before the change */
	uint64_t spare;     /* bytes free on their filesystems */
	bool is_endless;    /* one is a device, or a filesystem does not tell */
};

/* Whether no earlier member is on this filesystem: members on one share its free bytes. */
static bool room_is_first_there(const struct transaction *transaction, uint32_t number, dev_t filesystem)
{
	struct stat st;

	for (uint32_t i = 0; i < number; i++)
		if (transaction->members[i].file && fstat(transaction->members[i].file->fd, &st) == 0 &&
		    st.st_dev == filesystem)
			return false;
	return true;
}

static int room_add_file(const struct transaction *transaction, uint32_t number, struct room_files *files,
			 struct error *err)
{
	const struct transaction_member *member = &transaction->members[number];
	struct statvfs fs;
	struct stat st;

	if (fstat(member->file->fd, &st) < 0 || fstatvfs(member->file->fd, &fs) < 0)
		return error_errno(err, "cannot measure the filesystem of '%s'", transaction->path);
	files->has += (uint64_t)st.st_blocks * 512;
	files->size += member->former_size;
	if (room_is_first_there(transaction, number, st.st_dev))
		files->spare += (uint64_t)fs.f_bavail * fs.f_frsize;
	files->is_endless |= !fs.f_blocks;
	return 0;
}

static uint32_t room_copies(const struct transaction *transaction)
{
	const struct allocator *allocator = &transaction->allocator;
	uint32_t copies = 1;

	for (uint32_t i = 0; i < allocator->lane_count; i++)
		if (allocator->lanes[i].column_count > copies)
			copies = allocator->lanes[i].column_count;
	return copies;
}

/* Returns the bytes that filesystems can store. Free space in files may be holes, which take blocks as growth does. */
static int room_spare(const struct transaction *transaction, uint64_t *ret, struct error *err)
{
	struct room_files files = { 0 };
	uint64_t inside = 0, spare;
	int r;

	r = room_free(transaction, &inside, err);
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++) {
		files.is_endless |= room_is_device(transaction, i);
		if (transaction->members[i].file && !room_is_device(transaction, i))
			r = room_add_file(transaction, i, &files, err);
	}
	if (r < 0)
		return r;
	files.has += inside;
	spare = files.has > files.size ? files.has - files.size : 0;
	spare = (spare < inside ? spare : inside) + files.spare;
	*ret = files.is_endless ? UINT64_MAX : spare / room_copies(transaction);
	return 0;
}

int room_writable(const struct transaction *transaction, uint64_t *ret, struct error *err)
{
	uint64_t room = allocator_free(&transaction->allocator), spare = UINT64_MAX;
	int r = room_spare(transaction, &spare, err);

	if (r == 0)
		*ret = spare < room ? spare : room;
	return r;
}

/* --- back to the filesystem --- */

static int room_punch(const struct transaction *transaction, uint32_t number, uint64_t start, uint64_t length,
		      uint64_t *ret_bytes, struct error *err)
{
	if (fallocate(transaction->members[number].file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
		      (off_t)length) < 0)
		return error_errno(err, "cannot make a hole at offset %" PRIu64, start);
	*ret_bytes += length;
	return 0;
}

static int room_punch_runs(const struct transaction *transaction, uint64_t *ret_bytes, struct error *err)
{
	struct space space;
	int r = room_open(transaction, &space, err);

	for (uint32_t i = 0; r == 0 && i < space.count; i++)
		r = room_punch(transaction, 0, space.runs[i].start, space.runs[i].end - space.runs[i].start, ret_bytes,
			       err);
	space_close(&space);
	return r;
}

/* Finds the segments of a member that are in a group, or hold superblocks or the catalogue in force. */
static int room_find_used(const struct transaction *transaction, uint32_t number, struct bits *ret, struct error *err)
{
	const struct members *members = &transaction->catalogue.members;
	const struct superblock *super = &transaction->members[number].super;
	uint64_t segment = UINT64_C(1) << members->segment_log;
	uint64_t catalogue = address_offset(super->catalogue_address);
	int r = bits_open(ret, source_size(transaction_source(transaction), number) / segment, err);

	if (r < 0)
		return r;
	bits_set(ret, 0, round_up(DSFS_DATA_AT, segment) / segment);
	bits_set(ret, catalogue / segment, round_up(catalogue % segment + super->catalogue_length, segment) / segment);
	for (uint32_t i = 0; i < members->column_count; i++)
		if (address_member(members->columns[i]) == number)
			bits_set(ret, address_offset(members->columns[i]) / segment, 1);
	return 0;
}

static int room_punch_member(const struct transaction *transaction, uint32_t number, uint64_t *ret_bytes,
			     struct error *err)
{
	uint64_t segment = UINT64_C(1) << transaction->catalogue.members.segment_log, first, end;
	struct bits used = { 0 };
	int r = room_find_used(transaction, number, &used, err);

	for (first = bits_next(&used, 0, false); r == 0 && first < used.count; first = bits_next(&used, end, false)) {
		end = bits_next(&used, first, true);
		r = room_punch(transaction, number, first * segment, (end - first) * segment, ret_bytes, err);
	}
	bits_close(&used);
	return r;
}

int room_give_back(const struct transaction *transaction, uint64_t *ret_bytes, struct error *err)
{
	int r = 0;

	*ret_bytes = 0;
	if (!transaction->catalogue.members.count)
		return room_punch_runs(transaction, ret_bytes, err);
	for (uint32_t i = 0; r == 0 && i < transaction->member_count; i++)
		if (transaction->members[i].file && !room_is_device(transaction, i))
			r = room_punch_member(transaction, i, ret_bytes, err);
	return r;
}
