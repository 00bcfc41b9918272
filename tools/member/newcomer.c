/* SPDX-License-Identifier: MIT */
/* Opens the newcomer, finds out which content lies on it, and makes it a member. */
#include "member/newcomer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "device/busy.h"
#include "device/locate.h"
#include "io/site.h"
#include "volume/occupant.h"
#include "volume/replacement/replacement_record.h"

void newcomer_close(struct newcomer *newcomer)
{
	if (newcomer->member.file)
		transaction_close_member(&newcomer->member, newcomer->path);
	if (newcomer->path)
		site_close(&newcomer->site);
	free(newcomer->path);
	*newcomer = (struct newcomer){ 0 };
}

/* --- examination --- */

static int newcomer_check_members(struct newcomer *newcomer, const struct transaction *transaction,
				  uint32_t number, const struct stat *st, struct error *err)
{
	struct stat member;

	for (uint32_t i = 0; i < transaction->member_count; i++) {
		const struct file_source *file = transaction->members[i].file;

		if (!file || fstat(file->fd, &member) < 0 || !site_is_same(&member, st))
			continue;
		newcomer->is_there = i == number;
		if (!newcomer->is_there)
			return error_set(err, -EINVAL, "'%s' is member %" PRIu32 " of the volume", newcomer->path, i);
	}
	return 0;
}

static int newcomer_check_busy(const struct stat *st, struct error *err)
{
	int r = S_ISBLK(st->st_mode) ? busy_check(st->st_rdev, err) : 0;

	return r == 0 && S_ISBLK(st->st_mode) ? busy_check_served(st->st_rdev, err) : r;
}

static int newcomer_make_uuid(uint8_t uuid[16], struct error *err)
{
	if (getrandom(uuid, 16, 0) < 0)
		return error_errno(err, "cannot get random bytes");
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return 0;
}

/* Returns the sequence of the last superblock up to which it missed nothing, or 0. A member that missed at most one
 * superblock slot has everything. */
static uint64_t newcomer_complete(const struct superblock *own, const struct transaction *transaction, uint32_t number)
{
	const struct members *members = &transaction->catalogue.members;
	const struct member *entry = &members->list[number];
	const struct superblock *newest = &transaction->super;
	uint32_t age = members_age(members, own->sequence, own->catalogue_sha256);

	if (entry->state == DSFS_MEMBER_STALE)
		return own->sequence == entry->stale_sequence &&
		       !memcmp(own->catalogue_sha256, entry->stale_sha256, sizeof(entry->stale_sha256)) ?
			       own->sequence : 0;
	return age == 1 || (own->sequence == newest->sequence &&
			    !memcmp(own->catalogue_sha256, newest->catalogue_sha256, sizeof(own->catalogue_sha256))) ?
		       newest->sequence : 0;
}

/* Returns whether it is the member itself, or was meant to become this one, and holds no other content by now.
 * Most superblock slots outlive mkfs(8), so they may refer to columns that it has overwritten. */
static bool newcomer_is_known(struct newcomer *newcomer, const struct occupant *occupant,
			      const struct transaction *transaction, uint32_t number)
{
	const struct members *members = &transaction->catalogue.members;
	const uint8_t *volume = transaction->super.volume_uuid;
	bool is_added = number >= members->count;
	struct superblock *super = &newcomer->member.super;
	struct file_source *file = newcomer->member.file;
	struct replacement_record record;

	newcomer->is_itself = !occupant->what[0] && !is_added && superblock_find(&file->source, 0, super, NULL) == 0 &&
			      !memcmp(super->volume_uuid, volume, 16) &&
			      !memcmp(super->member_uuid, members->list[number].uuid, 16);
	newcomer->is_resumed = !occupant->what[0] && replacement_record_read(file, &record) &&
			       (is_added ? record.member >= members->count : record.member == number) &&
			       !memcmp(record.volume_uuid, volume, 16);
	if (newcomer->is_itself) {
		newcomer->complete = newcomer_complete(super, transaction, number);
		memcpy(newcomer->uuid, members->list[number].uuid, 16);
	} else {
		*super = (struct superblock){ 0 };
		memcpy(newcomer->uuid, record.member_uuid, newcomer->is_resumed ? 16 : 0);
	}
	/* Any user who knows the volume's UUID can write a record. */
	newcomer->is_shared = occupant->is_shared && !newcomer->is_itself;
	newcomer->is_resumed = newcomer->is_resumed && !newcomer->is_shared;
	return newcomer->is_itself || newcomer->is_resumed;
}

static int newcomer_check_content(struct newcomer *newcomer, const struct occupant *occupant, bool force,
				  struct error *err)
{
	bool is_empty = occupant->is_nothing ||
			(!occupant->is_volume && !occupant->what[0] && newcomer->is_device);

	newcomer->has_other = !is_empty || newcomer->is_shared;
	if (force || !newcomer->has_other)
		return 0;
	if (is_empty)
		return error_wrap(err, occupant_refuse_shared(newcomer->member.file, err), "'%s'", newcomer->path);
	return error_set(err, -EEXIST, "'%s' holds %s, --force replaces it", newcomer->path,
			 occupant->what[0] ? occupant->what :
			 occupant->is_volume ? "a datasetfs volume, or a member of one" :
					      "something that is not a datasetfs volume");
}

static int newcomer_look(struct newcomer *newcomer, const struct transaction *transaction, uint32_t number,
			 const struct newcomer_options *options, struct error *err)
{
	struct occupant occupant;
	struct stat st;
	int r;

	if (fstat(newcomer->site.file, &st) < 0)
		return error_errno(err, "'%s'", newcomer->path);
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "'%s' is neither a file nor a block device", newcomer->path);
	newcomer->is_device = S_ISBLK(st.st_mode);
	r = newcomer_check_members(newcomer, transaction, number, &st, err);
	if (r < 0 || newcomer->is_there)
		return r;
	r = newcomer_check_busy(&st, err);
	if (r == 0)
		r = transaction_open_member(newcomer->path, &newcomer->site, options->preempt, &newcomer->member, err);
	if (r == 0)
		r = occupant_find(&newcomer->site, newcomer->member.file, &occupant, err);
	if (r < 0 || newcomer_is_known(newcomer, &occupant, transaction, number))
		return r;
	r = newcomer_check_content(newcomer, &occupant, options->force, err);
	return r < 0 ? r : newcomer_make_uuid(newcomer->uuid, err);
}

static int newcomer_plan(struct newcomer *newcomer, struct error *err)
{
	int r;

	if (!strncmp(newcomer->path, "/dev/", 5) && strncmp(newcomer->path, "/dev/shm/", 9) != 0)
		return error_set(err, -ENOENT, "'%s': there is no such device", newcomer->path);
	r = site_plan(newcomer->path, &newcomer->site, err);
	return r < 0 ? r : newcomer_make_uuid(newcomer->uuid, err);
}

int newcomer_open(const char *name, const struct transaction *transaction, uint32_t number,
		  const struct newcomer_options *options, struct newcomer *ret, struct error *err)
{
	struct newcomer newcomer = { .site = SITE_NONE };
	int r = locate_path(name, &newcomer.path, err);

	if (r < 0)
		return r;
	r = site_find(newcomer.path, &newcomer.site, err);
	if (r == -ENOENT)
		r = newcomer_plan(&newcomer, err);
	else if (r == 0)
		r = newcomer_look(&newcomer, transaction, number, options, err);
	if (r < 0) {
		newcomer_close(&newcomer);
		return r;
	}
	newcomer.site.path = newcomer.path;
	*ret = newcomer;
	return 0;
}

/* --- preparation --- */

/* Counts the reserve for catalogues at the end of a device, as on any member. */
int newcomer_check_room(const struct newcomer *newcomer, uint64_t size, struct error *err)
{
	uint64_t found;

	if (!newcomer->is_device || !newcomer->member.file)
		return 0;
	found = round_down(source_size(&newcomer->member.file->source, 0), DSFS_BLOCK);
	if (found >= space_reserved(found) && size <= found - space_reserved(found))
		return 0;
	return error_set(err, -ENOSPC, "'%s' has %" PRIu64 " bytes, the member needs %" PRIu64
			 " and the reserve of %" PRIu64, newcomer->path, found, size, space_reserved(found));
}

static int newcomer_copy_mode(const struct file_source *from, const struct file_source *to, struct error *err)
{
	struct stat st;

	if (fstat(from->fd, &st) < 0 || (geteuid() == 0 && fchown(to->fd, st.st_uid, st.st_gid) < 0) ||
	    fchmod(to->fd, st.st_mode & 07777) < 0)
		return error_errno(err, "cannot give the new file the mode and owner of the former one");
	return 0;
}

static int newcomer_put_fresh(const struct newcomer *newcomer, struct site *beside, struct file_source **ret,
			      struct error *err)
{
	int former = newcomer->member.file->fd, r;
	struct file_source *fresh;

	r = file_open_site(beside, FILE_UNNAMED, &fresh, err);
	if (r < 0)
		return r;
	r = newcomer->is_shared ? 0 : newcomer_copy_mode(newcomer->member.file, fresh, err);
	if (r == 0)
		r = site_link(beside, fresh->fd, err);
	if (r == 0)
		r = site_replace(beside, fresh->fd, &newcomer->site, former, err);
	if (r < 0) {
		site_remove(beside, fresh->fd);
		file_close(fresh);
		return r;
	}
	*ret = fresh;
	return 0;
}

/* Replaces the file by a new one instead of overwriting it: a process that has the old file open, such as a mount of
 * it, keeps it. */
static int newcomer_start_afresh(struct newcomer *newcomer, struct error *err)
{
	struct file_source *former = newcomer->member.file;
	struct site beside = SITE_NONE;
	int r;

	if (site_is_mount(&newcomer->site))
		return error_set(err, -EINVAL, "'%s' is itself a mount point and cannot be replaced", newcomer->path);
	r = site_beside_random(&newcomer->site, ".new.", &beside, err);
	if (r == 0)
		r = newcomer_put_fresh(newcomer, &beside, &newcomer->member.file, err);
	if (r == 0)
		file_close(former);
	site_close(&beside);
	return r;
}

static int newcomer_make_room(struct newcomer *newcomer, uint64_t size, struct error *err)
{
	struct file_source *file;
	uint64_t found;
	int r = newcomer_check_room(newcomer, size, err);

	if (r == 0 && !newcomer->is_device && newcomer->has_other)
		r = newcomer_start_afresh(newcomer, err);
	if (r < 0)
		return r;
	file = newcomer->member.file;
	found = round_down(source_size(&file->source, 0), DSFS_BLOCK);
	if (newcomer->is_device) {
		newcomer->member.capacity = found;
		return 0;
	}
	newcomer->member.capacity = SPACE_ENDLESS;
	if (found < size && ftruncate(file->fd, (off_t)size) < 0)
		return error_errno(err, "cannot make '%s' %" PRIu64 " bytes long", newcomer->path, size);
	newcomer->member.former_size = found < size ? size : found;
	return 0;
}

int newcomer_write_record(struct newcomer *newcomer, struct error *err)
{
	const struct superblock *super = &newcomer->member.super;
	struct replacement_record record = { .member = super->member };
	int r;

	memcpy(record.volume_uuid, super->volume_uuid, sizeof(record.volume_uuid));
	memcpy(record.member_uuid, newcomer->uuid, sizeof(record.member_uuid));
	r = replacement_record_write(newcomer->member.file, &record, err);
	return r < 0 ? r : source_flush(&newcomer->member.file->source, err);
}

/* Wipes old superblock slots, which must not win over new ones or refer to content that is only half copied. */
static int newcomer_wipe(struct newcomer *newcomer, struct error *err)
{
	static const uint8_t zeros[DSFS_BLOCK] __attribute__((aligned(DSFS_BLOCK)));
	struct file_source *file = newcomer->member.file;
	bool is_known = newcomer->is_itself || newcomer->is_resumed;
	int r = 0;

	if (newcomer->is_itself && newcomer->complete)
		return 0;
	if (newcomer->is_device && !is_known)
		return occupant_wipe(file, newcomer->member.capacity, newcomer->has_other, err);
	/* The slots of a member whose history diverged identify it, so the record comes before they are wiped. */
	if (newcomer->is_itself && !newcomer->is_resumed)
		r = newcomer_write_record(newcomer, err);
	for (uint64_t at = 0; r == 0 && is_known && at < DSFS_PUBLISHER_AT; at += DSFS_SLOT_SPACING)
		r = source_write(&file->source, 0, at, zeros, sizeof(zeros), err);
	return r;
}

int newcomer_make(struct newcomer *newcomer, uint64_t size, const struct newcomer_options *options, struct error *err)
{
	int r = 0;

	if (!newcomer->member.file)
		r = transaction_open_member(newcomer->path, &newcomer->site, options->preempt, &newcomer->member, err);
	newcomer->member.is_fresh = false; /* it stays, so that a later run can continue */
	if (r == 0)
		r = newcomer_make_room(newcomer, size, err);
	/* The name must be as durable as the catalogue that will say that this is a member. */
	if (r == 0 && !newcomer->is_device)
		r = site_sync(&newcomer->site, err);
	return r < 0 ? r : newcomer_wipe(newcomer, err);
}
