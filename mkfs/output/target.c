/* SPDX-License-Identifier: MIT */
/* Opening, formatting and putting back of volumes; the only user of libblkid. */
#include "output/target.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "device/busy.h"
#include "device/locate.h"
#include "device/protect.h"
#include "image/address.h"
#include "image/publisher.h"

#define TARGET_SUFFIX     ".new-mkdatasetfs"
#define TARGET_ZEROS      (1u << 20)
#define TARGET_LEAST      (UINT64_C(2) << 20) /* bytes of a device: the ring and some data */
#define TARGET_SEGMENTS   64u                 /* a device is to have at least so many, if they can be so small */

/* --- what lies there --- */

static void target_free_probe(blkid_probe *probe)
{
	blkid_free_probe(*probe);
}

/* Names what libblkid knows: "ext4 filesystem", "gpt partition table". what stays empty when it knows nothing; that it could
 * not look is a failure. */
static int target_probe(const struct target *target, char *what, size_t size, struct error *err)
{
	cleanup(target_free_probe) blkid_probe probe = blkid_new_probe();
	auto_close int fd = -1; /* it reads at any offset, so not directly */
	const char *type;
	int r;

	what[0] = 0;
	if (!probe || site_open(&target->site, O_RDONLY, &fd, NULL) < 0 || blkid_probe_set_device(probe, fd, 0, 0) < 0)
		return error_set(err, -EIO, "cannot probe it for other content");
	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE);
	blkid_probe_enable_partitions(probe, 1);
	while ((r = blkid_do_probe(probe)) == 0) {
		if (blkid_probe_lookup_value(probe, "TYPE", &type, NULL) == 0)
			snprintf(what, size, "a filesystem or volume of type %s", type);
		else if (blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL) == 0)
			snprintf(what, size, "a partition table of type %s", type);
		if (what[0])
			return 0;
	}
	return r < 0 ? error_set(err, -EIO, "cannot probe it for other content") : 0;
}

/* A file without any data: empty, or made by truncate(1). */
static bool target_is_all_hole(const struct file_source *file)
{
	return lseek(file->fd, 0, SEEK_DATA) < 0 && errno == ENXIO;
}

/* What a publisher leaves that is killed while it fills a new file. */
static bool target_is_remainder(struct target *target)
{
	char who[COMMIT_WHO_SIZE];

	commit_who(target->source, who);
	return who[0];
}

/* Refuses what people may still need. *ret_ours: it is a volume and nothing else; a filesystem that was made over a
 * volume leaves some of its slots, so they alone do not tell. */
static int target_check_content(struct target *target, bool force, bool *ret_ours, struct error *err)
{
	char what[128];
	bool seen;
	int r;

	*ret_ours = false;
	r = superblock_seen(target->source, &seen, err);
	if (r < 0)
		return r;
	if (!target->is_device && target_is_all_hole(target->file))
		return 0;
	r = target_probe(target, what, sizeof(what), err);
	if (r < 0 && !seen) /* some block of a volume that cannot be read does not make it somebody else's */
		return r;
	if (!what[0] && (seen || target->is_device || target_is_remainder(target))) {
		*ret_ours = seen;
		return 0;
	}
	if (!force)
		return error_set(err, -EEXIST, "it holds %s, --force replaces it",
				 what[0] ? what : "something that is not a datasetfs volume");
	target->wipe = true;
	return 0;
}

/* --- opening --- */

static int target_check_new_options(const struct pack_options *options, struct error *err)
{
	if (options->has_uuid || options->segment_log)
		return error_set(err, -EINVAL, "it is a volume already: --%s is for a new one, or with --format",
				 options->has_uuid ? "uuid" : "segment-size");
	return 0;
}

static int target_load(struct target *target, const struct pack_options *options, struct error *err)
{
	struct error why = { 0 };
	int r;

	r = target_check_new_options(options, err);
	if (r < 0)
		return r;
	r = catalogue_load(target->source, &target->super, &target->catalogue, &why);
	if (r < 0)
		return error_set(err, r, "%s%s", why.reason,
				 r == -EBADMSG || r == -EOPNOTSUPP ? " (--format starts afresh)" : "");
	target->capacity = target->is_device ? target->super.member_size : SPACE_ENDLESS;
	if (superblock_doubt(&target->super, &why))
		log_warn("volume '%s': %s", target->path, why.reason);
	r = catalogue_check_writable(&target->super, &target->catalogue, err);
	return r < 0 ? r : superblock_check_newest(target->source, target->super.sequence, err);
}

/* 16 MiB, less on a small device so that there are enough of them. */
static uint32_t target_segment_log(const struct target *target, const struct pack_options *options)
{
	uint32_t log = PACK_SEGMENT_LOG;

	if (options->segment_log)
		return options->segment_log;
	while (target->is_device && log > DSFS_SEGMENT_LOG_MIN && target->capacity >> log < TARGET_SEGMENTS)
		log--;
	return log;
}

static int target_init(struct target *target, const struct pack_options *options, struct error *err)
{
	struct superblock *super = &target->super;

	target->is_new = true;
	target->capacity = target->is_device ? source_size(target->source, 0) : SPACE_ENDLESS;
	if (target->capacity < TARGET_LEAST)
		return error_set(err, -ENOSPC, "it has %" PRIu64 " bytes, a volume needs at least %" PRIu64,
				 target->capacity, TARGET_LEAST);
	super->member_count = 1;
	super->segment_log = target_segment_log(target, options);
	if (options->has_uuid) {
		memcpy(super->volume_uuid, options->uuid, sizeof(super->volume_uuid));
	} else {
		if (getrandom(super->volume_uuid, sizeof(super->volume_uuid), 0) < 0)
			return error_errno(err, "cannot get random bytes");
		super->volume_uuid[6] = (super->volume_uuid[6] & 0x0f) | 0x40;
		super->volume_uuid[8] = (super->volume_uuid[8] & 0x3f) | 0x80;
	}
	target->catalogue.next_sequence = 1;
	memcpy(target->catalogue.volume_uuid, super->volume_uuid, sizeof(super->volume_uuid));
	return 0;
}

/* Without a name where the filesystem can: then a publisher that is killed leaves nothing. What one has left under the name
 * is nobody else's, as the former file is locked. */
static int target_create_successor(struct target *target, struct file_source **ret, struct error *err)
{
	struct site *site = &target->successor;

	if (unlinkat(site->folder, site->name, 0) < 0 && errno != ENOENT)
		return error_errno(err, "cannot remove what a killed publisher left, '%s'", site->name);
	target->is_unnamed = file_open_site(site, FILE_UNNAMED, ret, NULL) == 0;
	return target->is_unnamed ? 0 : file_open_site(site, FILE_CREATE, ret, err);
}

/* An existing file is not emptied but replaced, at the very end: whatever fails before leaves it as it was. One that is
 * bind-mounted by itself, as into a container, cannot be: nothing can be renamed to a mount point. */
static int target_open_successor(struct target *target, const struct stat *former, struct error *err)
{
	struct file_source *fresh;
	int r;

	if (site_is_mount(&target->site))
		return error_set(err, -EINVAL,
				 "this file is mounted by itself and cannot be replaced by a new volume; mount the directory "
				 "that it lies in instead");
	r = site_beside(&target->site, TARGET_SUFFIX, &target->successor, err);
	if (r == 0)
		r = target_create_successor(target, &fresh, err);
	if (r < 0)
		return r;
	target->former = target->file;
	target->file = fresh;
	target->source = &fresh->source;
	target->created = true;
	target->former_size = 0;
	target->wipe = false;
	if ((geteuid() == 0 && fchown(fresh->fd, former->st_uid, former->st_gid) < 0) ||
	    fchmod(fresh->fd, former->st_mode & 07777) < 0)
		return error_errno(err, "cannot give '%s' the mode and owner of '%s'", target->successor.name,
				   target->site.name);
	return 0;
}

/* linkat(2) replaces nothing, rename(2) does. */
static int target_name_successor(struct target *target, struct error *err)
{
	int r = target->is_unnamed ? site_link(&target->successor, target->file->fd, err) : 0;

	if (r == 0)
		target->is_unnamed = false;
	return r;
}

/* With the rename the former volume is gone, so what fails afterwards cannot be told as a publish that failed. */
int target_replace_former(struct target *target, struct error *err)
{
	struct error why = { 0 };
	int r;

	if (!target->former)
		return 0;
	r = target_name_successor(target, err);
	if (r == 0)
		r = site_replace(&target->successor, target->file->fd, &target->site, target->former->fd, err);
	if (r < 0)
		return r;
	if (target_sync_name(target, &why) < 0)
		log_warn("the version is published, but a power loss may bring the former volume back: %s, ignoring",
			 why.reason);
	return 0;
}

/* Before anything is read that another host could be changing. */
static int target_raise_fence(struct target *target, bool preempt, struct error *err)
{
	char notice[FENCE_NOTICE_SIZE];
	int r = fence_raise(target->file->fd, preempt, &target->fence, notice, err);

	if (r == 0 && notice[0])
		log_warn("'%s': %s, ignoring", target->path, notice);
	return r;
}

int target_check_fence(const struct target *target, struct error *err)
{
	return fence_check(&target->fence, err);
}

static void target_lower_fence(struct target *target)
{
	struct error why = { 0 };

	if (fence_lower(&target->fence, &why) < 0)
		log_warn("the reservation of '%s' cannot be given back: %s, ignoring", target->path, why.reason);
}

static int target_set_protection(const struct target *target, bool on, struct error *err)
{
	auto_close int fd = -1;
	int r = site_open(&target->site, O_RDONLY, &fd, err);

	return r < 0 ? r : protect_set(fd, on, err);
}

/* A namespace that is write-protected takes no write before that is lifted. */
static int target_unprotect(struct target *target, const struct pack_options *options, struct error *err)
{
	auto_close int fd = -1;
	int r = site_open(&target->site, O_RDONLY, &fd, err);

	if (r == 0 && options->write_protect)
		r = protect_check(fd, err);
	if (r < 0 || !protect_is_read_only(fd))
		return r;
	if (!options->write_protect)
		return error_set(err, -EROFS,
				 protect_check(fd, NULL) == 0 ?
					 "it is write-protected; --write-protect lifts that for the publish" :
					 "it is read-only");
	r = protect_set(fd, false, err);
	target->unprotected = r == 0;
	return r;
}

int target_protect(struct target *target, struct error *err)
{
	struct error why = { 0 };

	target_lower_fence(target); /* a protected namespace takes no command about reservations either */
	target->unprotected = false;
	if (target_set_protection(target, true, &why) < 0)
		return error_set(err, why.code, "the version is published, but '%s' is not write-protected: %s",
				 target->path, why.reason);
	return 0;
}

static int target_open_source(struct target *target, const struct pack_options *options, enum file_mode mode,
			      struct error *err)
{
	struct stat st;
	bool ours;
	int r;

	r = file_open_site(&target->site, mode, &target->file, err);
	if (r < 0)
		return r;
	target->created = mode == FILE_CREATE;
	target->source = &target->file->source;
	target->is_device = target->file->geometry.is_block_device;
	target->former_size = target->is_device ? 0 : source_size(target->source, 0);
	if (fstat(target->file->fd, &st) < 0)
		return error_errno(err, "fstat");
	if (!target->is_device) {
		target->device = st.st_dev;
		target->inode = st.st_ino;
	}
	r = locate_identity(target->file->fd, target->identity, err);
	if (r == 0 && mode == FILE_READ && !target->is_device)
		r = site_name(&target->site, target->file->fd, err); /* for temporary files */
	if (r == 0 && mode == FILE_WRITE)
		r = target_raise_fence(target, options->preempt, err);
	if (r < 0)
		return r;
	if (target->created)
		return target_init(target, options, err);
	r = target_check_content(target, options->force, &ours, err);
	if (r < 0)
		return r;
	if (ours && !options->format)
		return target_load(target, options, err);
	r = 0;
	if (target->is_device)
		r = busy_check_served(st.st_rdev, err);
	else if (mode == FILE_WRITE)
		r = target_open_successor(target, &st, err);
	if (r < 0)
		return r;
	return target_init(target, options, err);
}

/* A slip in the name of a device would fill the memory of '/dev' with a file. */
static bool target_is_device_name(const char *path)
{
	return !strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9) != 0;
}

static int target_open_new(struct target *target, const struct pack_options *options, struct error *err)
{
	int r;

	if (target_is_device_name(target->path))
		return error_set(err, -ENOENT, "there is no such device");
	if (options->write_protect)
		return error_set(err, -ENOENT, "it does not exist, so it cannot be write-protected");
	r = site_plan(target->path, &target->site, err);
	if (r < 0)
		return r;
	if (options->dry_run)
		return target_init(target, options, err);
	return target_open_source(target, options, FILE_CREATE, err);
}

static int target_open_path(struct target *target, const struct pack_options *options, struct error *err)
{
	struct stat st;
	int r = site_find(target->path, &target->site, err);

	if (r == -ENOENT)
		return target_open_new(target, options, err);
	if (r < 0)
		return r;
	if (fstat(target->site.file, &st) < 0)
		return error_errno(err, "fstat");
	if (S_ISBLK(st.st_mode))
		r = busy_check(st.st_rdev, err);
	if (r == 0 && !options->dry_run && (S_ISBLK(st.st_mode) || S_ISREG(st.st_mode)))
		r = target_unprotect(target, options, err);
	return r < 0 ? r : target_open_source(target, options, options->dry_run ? FILE_READ : FILE_WRITE, err);
}

/* The lock does not say who has it, the publisher record does. */
static void target_name_holder(struct target *target, struct error *why)
{
	struct file_source *file;
	char who[COMMIT_WHO_SIZE];
	struct error was = *why;

	if (target->site.file < 0 || file_open_site(&target->site, FILE_READ, &file, NULL) < 0)
		return;
	commit_who(&file->source, who);
	file_close(file);
	if (who[0])
		error_set(why, was.code, "%s: %s", was.reason, who);
}

int target_open(const struct pack_options *options, struct target *ret, struct error *err)
{
	struct target target = { .path = options->volume, .site = SITE_NONE, .successor = SITE_NONE };
	struct error why = { 0 };
	int r;

	r = target_open_path(&target, options, &why);
	if (r == -EBUSY)
		target_name_holder(&target, &why);
	if (r < 0) {
		target_close(&target);
		return error_set(err, r, "volume '%s': %s", options->volume, why.reason);
	}
	*ret = target;
	return 0;
}

/* --- first write, and putting back --- */

static int target_write_zeros(struct target *target, uint64_t offset, struct error *err)
{
	auto_free uint8_t *zeros = aligned_alloc(DSFS_BLOCK, TARGET_ZEROS);

	if (!zeros)
		return error_set(err, -ENOMEM, "out of memory");
	memset(zeros, 0, TARGET_ZEROS);
	return source_write(target->source, 0, offset, zeros, TARGET_ZEROS, err);
}

/* Former slots must not win, and nobody must recognise what lay there: it may have signatures at both ends. */
static int target_wipe(struct target *target, struct error *err)
{
	int r;

	if (!target->is_device)
		return 0; /* a file that was just made */
	r = target_write_zeros(target, 0, err);
	if (r == 0 && target->wipe)
		r = target_write_zeros(target, round_down(target->capacity, DSFS_BLOCK) - TARGET_ZEROS, err);
	return r;
}

int target_begin(struct target *target, struct error *err)
{
	struct source *before = target->former ? &target->former->source : target->source;
	char who[COMMIT_WHO_SIZE];
	int r = 0;

	commit_who(before, who);
	target->begun = true;
	if (target->is_new)
		r = target_wipe(target, err);
	if (r == 0)
		r = commit_begin(target->source, err);
	if (r == 0 && who[0])
		log_warn("a publisher did not finish: %s, ignoring", who);
	return r;
}

int target_sync_name(const struct target *target, struct error *err)
{
	return target->created ? site_sync(&target->site, err) : 0;
}

/* Best effort: the failure that led here is the one to be told. */
static void target_put_back(struct target *target)
{
	if (target->created) {
		if (!target->is_unnamed)
			site_remove(target->former ? &target->successor : &target->site, target->file->fd);
		return;
	}
	if (!target->begun)
		return;
	if (commit_undo(&target->commit, target->source, NULL) < 0)
		log_warn("cannot put back the superblock slot of '%s', ignoring", target->path);
	if ((target->is_device || target->former_size >= DSFS_DATA_AT) &&
	    publisher_write(target->source, NULL, 0, 0, NULL) < 0)
		log_warn("cannot clear the publisher record of '%s', ignoring", target->path);
	if (!target->is_device && !target->commit.slot_written &&
	    ftruncate(target->file->fd, (off_t)target->former_size) < 0)
		log_warn("cannot cut '%s' back to %" PRIu64 " bytes, ignoring", target->path, target->former_size);
}

void target_close(struct target *target)
{
	struct error why = { 0 };

	if (target->file && !target->published)
		target_put_back(target);
	target_lower_fence(target);
	if (target->unprotected && target_set_protection(target, true, &why) < 0)
		log_warn("the write protection of '%s' was lifted and does not come back: %s, ignoring", target->path,
			 why.reason);
	catalogue_free(&target->catalogue);
	file_close(target->file);
	file_close(target->former);
	site_close(&target->site);
	site_close(&target->successor);
	*target = (struct target){ .site = SITE_NONE, .successor = SITE_NONE };
}

int target_open_temp(const struct target *target, const struct pack_options *options, struct temp **ret,
		     struct error *err)
{
	const char *variable = getenv("TMPDIR");

	if (options->temp_dir)
		return temp_open(options->temp_dir, ret, err);
	if (variable && *variable)
		return temp_open(variable, ret, err);
	if (target->site.folder < 0)
		return temp_open("/var/tmp", ret, err);
	return temp_open_folder(target->site.folder, ret, err);
}
