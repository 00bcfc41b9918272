/* SPDX-License-Identifier: MIT */
/* Sends each read and write to its member. */
#include "io/array.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "io/pace.h"

static struct array_source *array_cast(struct source *source)
{
	return (struct array_source *)source;
}

bool array_has(const struct array_source *array, uint32_t slot)
{
	return __atomic_load_n(&array->files[slot], __ATOMIC_ACQUIRE);
}

uint64_t array_last_size(const struct array_source *array, uint32_t slot)
{
	return file_last_size(&__atomic_load_n(&array->files[slot], __ATOMIC_ACQUIRE)->geometry);
}

static int array_find(struct source *source, uint32_t member, struct source **ret, struct error *err)
{
	struct array_source *array = array_cast(source);

	if (member >= array->count)
		return error_set(err, -EINVAL, "member %" PRIu32 ": the volume has %" PRIu32, member, array->count);
	if (!array_has(array, member))
		return error_set(err, -ENODEV, "member %" PRIu32 " is missing", member);
	if (array->is_silent && array->is_silent(array->owner, member))
		return error_set(err, -ETIMEDOUT, "member %" PRIu32 " does not answer", member);
	*ret = &__atomic_load_n(&array->files[member], __ATOMIC_ACQUIRE)->source;
	return 0;
}

/* With several members, the error names the one that failed. */
static int array_blame(struct source *source, uint32_t member, int r, struct error *err)
{
	return r < 0 && array_cast(source)->count > 1 ? error_wrap(err, r, "member %" PRIu32, member) : r;
}

static int array_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
		      struct error *err)
{
	struct window *pace = array_cast(source)->pace;
	struct source *file = NULL;
	int64_t begun;
	int r = array_find(source, member, &file, err);

	if (r < 0)
		return r;
	begun = pace_begin(pace, length);
	r = source_read(file, 0, offset, buffer, length, err);
	pace_end(pace, member, length, begun, r < 0 ? r : (int64_t)length);
	return array_blame(source, member, r, err);
}

static int array_begin_part(struct source *source, struct source_part *part, struct error *err)
{
	uint32_t member = part->member;
	struct source *file = NULL;
	int r = array_find(source, member, &file, err);

	if (r < 0)
		return r;
	part->member = 0;
	r = file->ops->begin_part ? file->ops->begin_part(file, part, err) :
				    source_read(file, 0, part->offset, part->buffer, part->length, err);
	part->member = member;
	return array_blame(source, member, r, err);
}

/* The member may have been replaced since the read began, so only the part knows the pending read. */
static int array_end_part(struct source *source, struct source_part *part, struct error *err)
{
	struct file_source *file = __atomic_load_n(&array_cast(source)->files[part->member], __ATOMIC_ACQUIRE);
	int r = file->source.ops->end_part(&file->source, part, err);

	return array_blame(source, part->member, r, err);
}

static int array_write(struct source *source, uint32_t member, uint64_t offset, const void *buffer, size_t length,
		       struct error *err)
{
	struct source *file = NULL;
	int r = array_find(source, member, &file, err);

	if (r < 0)
		return r;
	r = source_write(file, 0, offset, buffer, length, err);
	return array_blame(source, member, r, err);
}

static int array_flush(struct source *source, struct error *err)
{
	struct array_source *array = array_cast(source);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < array->count; i++)
		if (array->files[i])
			r = array_blame(source, i, source_flush(&array->files[i]->source, err), err);
	return r;
}

static int array_flush_member(struct source *source, uint32_t member, struct error *err)
{
	struct source *file = NULL;
	int r = array_find(source, member, &file, err);

	return r < 0 ? r : array_blame(source, member, source_flush(file, err), err);
}

static uint64_t array_size(struct source *source, uint32_t member)
{
	struct source *file = NULL;

	return array_find(source, member, &file, NULL) < 0 ? 0 : source_size(file, 0);
}

static const struct source_ops array_ops = {
	.read = array_read,
	.begin_part = array_begin_part,
	.end_part = array_end_part,
	.write = array_write,
	.flush = array_flush,
	.flush_member = array_flush_member,
	.size = array_size,
};

int array_new(uint32_t count, struct array_source **ret, struct error *err)
{
	struct array_source *array = calloc(1, sizeof(*array));

	if (array) {
		array->source.ops = &array_ops;
		array->source.count = array->count = array->fd_count = count;
		array->files = calloc(count, sizeof(*array->files));
		array->fds = calloc(count + 1, sizeof(*array->fds));
		array->geometry = calloc(count, sizeof(*array->geometry));
	}
	if (!array || !array->files || !array->fds || !array->geometry) {
		array_close(array);
		return error_no_memory(err);
	}
	for (uint32_t i = 0; i < count; i++)
		array->fds[i] = -1;
	*ret = array;
	return 0;
}

int array_add(struct array_source *array, struct error *err)
{
	uint32_t slot = array->count;
	int r = grow_one(array->files, slot, err);

	if (r == 0)
		r = grow_one(array->geometry, slot, err);
	if (r == 0)
		r = grow_one(array->fds, slot + 1, err);
	if (r < 0)
		return r;
	array->files[slot] = NULL;
	array->geometry[slot] = (struct file_geometry){ 0 };
	array->fds[slot] = array->fds[slot + 1] = -1;
	array->source.count = array->count = array->fd_count = slot + 1;
	return 0;
}

/* Sets the block size of all members to the largest, because any member may have to serve another's reads. */
static void array_align(struct array_source *array)
{
	uint32_t block = 0;

	for (uint32_t i = 0; i < array->count; i++)
		if (array->files[i] && array->files[i]->geometry.logical_block > block)
			block = array->files[i]->geometry.logical_block;
	for (uint32_t i = 0; i < array->count; i++)
		array->geometry[i].logical_block = block;
}

struct file_source *array_put(struct array_source *array, uint32_t slot, struct file_source *file)
{
	struct file_source *former = array->files[slot];

	array->files[slot] = file;
	array->fds[slot] = file ? file->fd : -1;
	array->geometry[slot] = file ? file->geometry : (struct file_geometry){ 0 };
	array_align(array);
	return former;
}

void array_extend(struct array_source *array, int fd)
{
	array->fds[array->count] = fd;
	array->fd_count = array->count + 1;
}

void array_close(struct array_source *array)
{
	if (!array)
		return;
	for (uint32_t i = 0; array->files && array->fds && i < array->count; i++) {
		if (!array->files[i] && array->fds[i] >= 0)
			close(array->fds[i]);
		file_close(array->files[i]);
	}
	window_free(array->pace);
	free(array->files);
	free(array->fds);
	free(array->geometry);
	free(array);
}

int array_reserve(struct array_source *array, struct error *err)
{
	for (uint32_t i = 0; i < array->count; i++) {
		if (array->fds[i] >= 0)
			continue;
		array->fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (array->fds[i] < 0)
			return error_errno(err, "cannot open '/dev/null'");
	}
	return 0;
}

/* Sets the geometry first, which is safe: threads use it only for slots that have a member. */
static void array_enter(struct array_source *array, uint32_t slot, struct file_source *file)
{
	file_note(&array->geometry[slot], &file->geometry);
	__atomic_store_n(&array->files[slot], file, __ATOMIC_RELEASE);
}

/* Replaces a member that others may be reading. While the descriptor changes, the member counts as direct if the old
 * or the new one is, because direct alignment suits both; likewise as a block device. */
static int array_replace(struct array_source *array, uint32_t slot, struct file_source *file, struct error *err)
{
	struct file_geometry *there = &array->files[slot]->geometry, both = file->geometry, former = *there;

	both.is_direct |= former.is_direct;
	both.is_block_device |= former.is_block_device;
	file_note(there, &both);
	if (dup3(file->fd, array->fds[slot], O_CLOEXEC) < 0) {
		file_note(there, &former);
		return error_errno(err, "dup3");
	}
	file_note(there, &file->geometry);
	file_note(&array->geometry[slot], &file->geometry);
	file_close(file);
	return 0;
}

int array_adopt(struct array_source *array, uint32_t slot, struct file_source *file, struct error *err)
{
	if (array_has(array, slot))
		return array_replace(array, slot, file, err);
	if (dup3(file->fd, array->fds[slot], O_CLOEXEC) < 0)
		return error_errno(err, "dup3");
	close(file->fd);
	file->fd = array->fds[slot];
	array_enter(array, slot, file);
	return 0;
}
