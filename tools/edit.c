/* SPDX-License-Identifier: MIT */
/* Opening for a change, the change, and putting back. */
#include "edit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "image/address.h"

/* With who publishes now, when that is the reason. */
static int edit_refuse(const char *path, struct source *reader, const struct error *why, struct error *err)
{
	char who[COMMIT_WHO_SIZE];

	commit_who(reader, who);
	return error_set(err, why->code, "volume '%s': %s%s%s", path, why->reason,
			 why->code == -EBUSY && who[0] ? ": " : "", why->code == -EBUSY ? who : "");
}

/* A reservation outlives its process, so signals wait until it is given back. */
static int edit_raise_fence(struct edit *edit, struct error *err)
{
	char notice[FENCE_NOTICE_SIZE];
	struct error why = { 0 };
	int r;

	signals_hold(&edit->signals);
	r = fence_raise(edit->file->fd, false, &edit->fence, notice, &why);
	if (!edit->fence.raised)
		signals_release(&edit->signals);
	if (r == 0 && notice[0])
		log_warn("'%s': %s, ignoring", edit->path, notice);
	return r < 0 ? edit_refuse(edit->path, edit->source, &why, err) : 0;
}

static void edit_lower_fence(struct edit *edit)
{
	struct error why = { 0 };

	if (!edit->fence.raised)
		return;
	if (fence_lower(&edit->fence, &why) < 0)
		log_warn("the reservation of '%s' cannot be given back: %s, ignoring", edit->path, why.reason);
	signals_release(&edit->signals);
}

/* What was looked at, not what has its name by now. */
static int edit_lock(struct edit *edit, struct file_source *reader, struct error *err)
{
	struct error why = { 0 };

	if (file_reopen(reader, edit->path, FILE_WRITE, &edit->file, &why) < 0)
		return edit_refuse(edit->path, &reader->source, &why, err);
	edit->source = &edit->file->source;
	edit->former_size = source_size(edit->source, 0);
	return edit_raise_fence(edit, err);
}

static uint64_t edit_capacity(const struct edit *edit)
{
	return edit->file->geometry.is_block_device ? edit->super.member_size : SPACE_ENDLESS;
}

static int edit_open_space(struct edit *edit, struct error *err)
{
	space_close(&edit->space);
	return space_open(&edit->space, &edit->catalogue, &edit->super, edit->super.segment_log, edit_capacity(edit), err);
}

/* Nothing in force refers to what lies behind the former end, and the lock keeps others from writing there. */
static int edit_cut_back(const struct edit *edit, struct error *err)
{
	if (edit->file->geometry.is_block_device || source_size(edit->source, 0) <= edit->former_size)
		return 0;
	if (ftruncate(edit->file->fd, (off_t)edit->former_size) < 0)
		return error_errno(err, "cannot cut '%s' back to %" PRIu64 " bytes", edit->path, edit->former_size);
	return 0;
}

bool edit_can_start_over(const struct edit *edit)
{
	return !edit->commit.slot_written;
}

int edit_start_over(struct edit *edit, struct error *err)
{
	int r = edit_cut_back(edit, err);

	if (r < 0)
		return r;
	catalogue_free(&edit->catalogue);
	r = catalogue_load(edit->source, &edit->super, &edit->catalogue, err);
	return r < 0 ? r : edit_open_space(edit, err);
}

static int edit_open_free(const struct edit *edit, struct space *ret, struct error *err)
{
	uint64_t file_size = edit->file->geometry.is_block_device ? 0 : source_size(edit->source, 0);

	return space_open_inside(ret, &edit->catalogue, &edit->super, file_size, err);
}

int edit_free(const struct edit *edit, uint64_t *ret, struct error *err)
{
	struct space space;
	int r;

	r = edit_open_free(edit, &space, err);
	if (r == 0)
		*ret = space_free(&space);
	space_close(&space);
	return r;
}

/* What is free inside of a file may be holes, which take blocks as growth does. */
int edit_room(const struct edit *edit, uint64_t *ret, struct error *err)
{
	uint64_t room = space_free(&edit->space), inside = 0, has, spare;
	struct statvfs fs;
	struct stat st;
	int r;

	if (!edit->file->geometry.is_block_device) {
		r = edit_free(edit, &inside, err);
		if (r < 0)
			return r;
		if (fstat(edit->file->fd, &st) < 0 || fstatvfs(edit->file->fd, &fs) < 0)
			return error_errno(err, "cannot measure the filesystem of '%s'", edit->path);
		has = (uint64_t)st.st_blocks * 512 + inside;
		spare = has > edit->former_size ? has - edit->former_size : 0;
		spare = (spare < inside ? spare : inside) + (uint64_t)fs.f_bavail * fs.f_frsize;
		if (fs.f_blocks && spare < room) /* no blocks: a filesystem that does not know */
			room = spare;
	}
	*ret = room;
	return 0;
}

int edit_begin(struct edit *edit, struct error *err)
{
	char former[COMMIT_WHO_SIZE];
	int r;

	if (edit->begun)
		return 0;
	commit_who(edit->source, former);
	edit->begun = true;
	r = commit_begin(edit->source, err);
	if (r == 0 && former[0])
		log_warn("a publisher did not finish: %s, ignoring", former);
	return r;
}

/* By a mount only that mount's volume is changed: one that does not say which it is may be of another. */
static int edit_check_mount(const struct volume *volume, const struct superblock *super, struct error *err)
{
	if (volume->mount && !volume->served.sequence)
		return error_set(err, -ESTALE, "'%s' does not say which volume it serves, name the volume itself",
				 volume->mount);
	return volume_check_mounted(volume, super, err);
}

int edit_open(const struct volume *volume, struct edit *ret, struct error *err)
{
	struct edit edit = { .path = volume->path };
	struct error doubt = { 0 };
	int r;

	r = edit_lock(&edit, volume->file, err);
	if (r == 0)
		r = catalogue_load(edit.source, &edit.super, &edit.catalogue, err);
	if (r == 0)
		r = edit_check_mount(volume, &edit.super, err);
	if (r == 0)
		r = catalogue_check_writable(&edit.super, &edit.catalogue, err);
	if (r == 0)
		r = superblock_check_newest(edit.source, edit.super.sequence, err);
	if (r == 0)
		r = edit_open_space(&edit, err);
	if (r < 0) {
		edit_close(&edit);
		return r;
	}
	if (superblock_doubt(&edit.super, &doubt))
		log_warn("volume '%s': %s", edit.path, doubt.reason);
	*ret = edit;
	return 0;
}

uint64_t edit_gained(const struct edit *edit, uint64_t before)
{
	struct error why = { 0 };
	uint64_t after = 0;

	if (edit_free(edit, &after, &why) < 0)
		log_warn("the change is in force, but how much became free is not known: %s, ignoring", why.reason);
	return after > before ? after - before : 0;
}

int edit_commit(struct edit *edit, struct error *err)
{
	struct superblock super = edit->super;
	struct error why = { 0 };
	int r;

	r = edit_begin(edit, err);
	if (r == 0)
		r = commit_catalogue(edit->source, &edit->space, &edit->catalogue, &super, err);
	if (r == 0)
		r = fence_check(&edit->fence, err);
	if (r < 0)
		return r;
	if (!edit->file->geometry.is_block_device)
		super.member_size = round_down(source_size(edit->source, 0), DSFS_BLOCK);
	r = commit_slot(&edit->commit, edit->source, &super, err);
	if (r < 0)
		return r;
	edit->super = super;
	edit->done = true;
	if (commit_end(edit->source, &why) < 0)
		log_warn("the change is in force, but its publisher record stays: %s, ignoring", why.reason);
	return 0;
}

static int edit_punch(const struct edit *edit, const struct space *space, uint64_t *ret_bytes, struct error *err)
{
	for (uint32_t i = 0; i < space->count; i++) {
		const struct space_run *run = &space->runs[i];

		if (fallocate(edit->file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)run->start,
			      (off_t)(run->end - run->start)) < 0)
			return error_errno(err, "cannot make a hole at offset %" PRIu64, run->start);
		*ret_bytes += run->end - run->start;
	}
	return 0;
}

int edit_give_back(const struct edit *edit, uint64_t *ret_bytes, struct error *err)
{
	struct space space;
	int r;

	*ret_bytes = 0;
	r = edit_open_free(edit, &space, err);
	if (r == 0)
		r = edit_punch(edit, &space, ret_bytes, err);
	space_close(&space);
	return r;
}

static void edit_put_back(struct edit *edit)
{
	struct error why = { 0 };

	if (commit_undo(&edit->commit, edit->source, NULL) < 0)
		log_warn("cannot put back the superblock slot of '%s', ignoring", edit->path);
	if (commit_end(edit->source, NULL) < 0)
		log_warn("cannot clear the publisher record of '%s', ignoring", edit->path);
	if (!edit->commit.slot_written && edit_cut_back(edit, &why) < 0)
		log_warn("%s, ignoring", why.reason);
}

void edit_close(struct edit *edit)
{
	if (edit->begun && !edit->done)
		edit_put_back(edit);
	space_close(&edit->space);
	catalogue_free(&edit->catalogue);
	edit_lower_fence(edit);
	file_close(edit->file);
	*edit = (struct edit){ 0 };
}
