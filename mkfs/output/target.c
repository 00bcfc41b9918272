/* SPDX-License-Identifier: MIT */
/* Finds out what the volume holds, and creates and formats volumes. The only user of libblkid. */
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

#define TARGET_SUFFIX     ".new-mkdatasetfs"
#define TARGET_ZEROS      (1u << 20)
#define TARGET_LEAST      (UINT64_C(2) << 20) /* bytes of a device: the ring and some data */
#define TARGET_SEGMENTS   64u                 /* a device is to have at least so many, if they can be so small */

/* --- what lies there --- */

static void target_free_probe(blkid_probe *probe)
{
	blkid_free_probe(*probe);
}

/* Names what libblkid knows: "ext4 filesystem", "gpt partition table". what stays empty when it knows nothing; that it
 * could not look is a failure. */
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

/* Refuses what people may still need. *ret_ours: it is a volume and nothing else; a filesystem that was made over a
 * volume leaves some of its slots, so they alone do not tell. */
static int target_check_content(struct target *target, bool force, bool *ret_ours, struct error *err)
{
	const struct transaction_member *member = &target->transaction.members[0];
	char what[128];
	bool seen;
	int r;

	*ret_ours = false;
	r = superblock_seen(member->source, 0, &seen, err);
	if (r < 0)
		return r;
	if (!target->is_device && target_is_all_hole(member->file))
		return 0;
	r = target_probe(target, what, sizeof(what), err);
	if (r < 0 && !seen) /* some block of a volume that cannot be read does not make it somebody else's */
		return r;
	/* A publisher that is killed while it fills a new file leaves its record. */
	if (!what[0] && (seen || target->is_device || member->former_holder[0])) {
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
		return error_set(err, -EINVAL, "it is a volume already: --%s needs a new one or --format",
				 options->has_uuid ? "uuid" : "segment-size");
	return 0;
}

static int target_load(struct target *target, const struct pack_options *options, struct error *err)
{
	struct superblock *super = &target->transaction.super;
	struct error why = { 0 };
	int r;

	r = target_check_new_options(options, err);
	if (r < 0)
		return r;
	r = transaction_load(&target->transaction, &why);
	if (r < 0)
		return error_set(err, r, "%s%s", why.reason,
				 r == -EBADMSG || r == -EOPNOTSUPP ? " (--format starts afresh)" : "");
	snprintf(super->identity, sizeof(super->identity), "%s", target->identity);
	return transaction_check(&target->transaction, err);
}

/* 16 MiB, less on a small device so that there are enough of them. */
static uint32_t target_segment_log(const struct target *target, const struct pack_options *options, uint64_t capacity)
{
	uint32_t log = PACK_SEGMENT_LOG;

	if (options->segment_log)
		return options->segment_log;
	while (target->is_device && log > DSFS_SEGMENT_LOG_MIN && capacity >> log < TARGET_SEGMENTS)
		log--;
	return log;
}

static int target_make_uuid(uint8_t uuid[16], struct error *err)
{
	if (getrandom(uuid, 16, 0) < 0)
		return error_errno(err, "cannot get random bytes");
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return 0;
}

static int target_format(struct target *target, const struct pack_options *options, struct error *err)
{
	struct source *source = transaction_source(&target->transaction);
	uint64_t capacity = target->is_device ? source_size(source, 0) : SPACE_ENDLESS;
	struct superblock super = { .member_count = 1 };
	int r = 0;

	if (capacity < TARGET_LEAST)
		return error_set(err, -ENOSPC, "it has %" PRIu64 " bytes, a volume needs at least %" PRIu64, capacity,
				 TARGET_LEAST);
	super.segment_log = target_segment_log(target, options, capacity);
	snprintf(super.identity, sizeof(super.identity), "%s", target->identity);
	if (options->has_uuid)
		memcpy(super.volume_uuid, options->uuid, sizeof(super.volume_uuid));
	else
		r = target_make_uuid(super.volume_uuid, err);
	return r < 0 ? r : transaction_format(&target->transaction, &super, capacity, err);
}

/* Without a name where the filesystem can: then a publisher that is killed leaves nothing. What one has left under the
 * name is nobody else's, as the former file is locked. */
static int target_create_successor(struct target *target, struct file_source **ret, struct error *err)
{
	struct site *site = &target->successor;

	if (unlinkat(site->folder, site->name, 0) < 0 && errno != ENOENT)
		return error_errno(err, "cannot remove what a killed publisher left, '%s'", site->name);
	target->is_unnamed = file_open_site(site, FILE_UNNAMED, ret, NULL) == 0;
	return target->is_unnamed ? 0 : file_open_site(site, FILE_CREATE, ret, err);
}

static int target_copy_mode(const struct target *target, const struct file_source *fresh, struct error *err)
{
	struct stat former;

	if (fstat(target->former->fd, &former) < 0)
		return error_errno(err, "fstat");
	if ((geteuid() == 0 && fchown(fresh->fd, former.st_uid, former.st_gid) < 0) ||
	    fchmod(fresh->fd, former.st_mode & 07777) < 0)
		return error_errno(err, "cannot give '%s' the mode and owner of '%s'", target->successor.name,
				   target->site.name);
	return 0;
}

/* An existing file is not emptied but replaced, at the very end: whatever fails before leaves it as it was. One that is
 * bind-mounted by itself, as into a container, cannot be: nothing can be renamed to a mount point. */
static int target_open_successor(struct target *target, struct error *err)
{
	struct file_source *fresh;
	int r;

	if (site_is_mount(&target->site))
		return error_set(err, -EINVAL,
				 "this file is itself a bind mount and cannot be replaced; mount the directory that "
				 "contains it instead");
	r = site_beside(&target->site, TARGET_SUFFIX, &target->successor, err);
	if (r == 0)
		r = target_create_successor(target, &fresh, err);
	if (r < 0)
		return r;
	target->former = transaction_swap_file(&target->transaction, 0, fresh);
	target->wipe = false;
	return target_copy_mode(target, fresh, err);
}

static int target_fd(const struct target *target)
{
	return target->transaction.members[0].file->fd;
}

static bool target_is_fresh(const struct target *target)
{
	return target->transaction.member_count && target->transaction.members[0].is_fresh;
}

/* linkat(2) replaces nothing, rename(2) does. */
static int target_name_successor(struct target *target, struct error *err)
{
	int r = target->is_unnamed ? site_link(&target->successor, target_fd(target), err) : 0;

	if (r == 0)
		target->is_unnamed = false;
	return r;
}

/* With the rename the former volume is gone, so what fails afterwards cannot be told as a publish that failed. */
static int target_replace_former(struct target *target, struct error *err)
{
	struct error why = { 0 };
	int r;

	r = target_name_successor(target, err);
	if (r == 0)
		r = site_replace(&target->successor, target_fd(target), &target->site, target->former->fd, err);
	if (r < 0)
		return r;
	if (site_sync(&target->site, &why) < 0)
		log_warn("the version is published, but a power loss may bring back the old volume: %s, ignoring",
			 why.reason);
	return 0;
}

int target_finish(struct target *target, struct error *err)
{
	int r = target_is_fresh(target) ? site_sync(&target->site, err) : 0;

	if (r == 0 && target->former)
		r = target_replace_former(target, err);
	target->published = r == 0;
	return r;
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

	transaction_end(&target->transaction); /* a protected namespace takes no command about reservations either */
	target->unprotected = false;
	if (target_set_protection(target, true, &why) < 0)
		return error_set(err, why.code, "the version is published, but '%s' is not write-protected: %s",
				 target->path, why.reason);
	return 0;
}

/* Opened, locked, and known which it is. */
static int target_lock(struct target *target, const struct pack_options *options, enum file_mode mode,
		       struct error *err)
{
	const struct file_source *file;
	struct stat st;
	int r;

	r = transaction_open(target->path, mode, &target->site, 1, options->preempt, &target->transaction, err);
	if (r < 0)
		return r;
	file = target->transaction.members[0].file;
	target->is_device = file->geometry.is_block_device;
	if (fstat(file->fd, &st) < 0)
		return error_errno(err, "fstat");
	if (!target->is_device) {
		target->device = st.st_dev;
		target->inode = st.st_ino;
	}
	r = locate_identity(file->fd, target->identity, err);
	if (r == 0 && mode == FILE_READ && !target->is_device)
		r = site_name(&target->site, file->fd, err); /* for temporary files */
	return r;
}

static int target_start_afresh(struct target *target, const struct pack_options *options, dev_t device,
			       struct error *err)
{
	int r = 0;

	if (target->is_device)
		r = busy_check_served(device, err);
	else if (!options->dry_run)
		r = target_open_successor(target, err);
	return r < 0 ? r : target_format(target, options, err);
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
		return target_format(target, options, err);
	r = target_lock(target, options, FILE_CREATE, err);
	return r < 0 ? r : target_format(target, options, err);
}

static int target_open_path(struct target *target, const struct pack_options *options, struct error *err)
{
	bool ours = false;
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
	if (r == 0)
		r = target_lock(target, options, options->dry_run ? FILE_READ : FILE_WRITE, err);
	if (r == 0)
		r = target_check_content(target, options->force, &ours, err);
	if (r < 0)
		return r;
	if (ours && !options->format)
		return target_load(target, options, err);
	return target_start_afresh(target, options, st.st_rdev, err);
}

int target_open(const struct pack_options *options, struct target *ret, struct error *err)
{
	struct target target = { .path = options->volume, .site = SITE_NONE, .successor = SITE_NONE };
	int r;

	r = target_open_path(&target, options, err);
	if (r < 0) {
		target_close(&target);
		return error_wrap(err, r, "volume '%s'", options->volume);
	}
	*ret = target;
	return 0;
}

/* --- first write, and closing --- */

static int target_write_zeros(struct target *target, uint64_t offset, struct error *err)
{
	auto_free uint8_t *zeros = aligned_alloc(DSFS_BLOCK, TARGET_ZEROS);

	if (!zeros)
		return error_set(err, -ENOMEM, "out of memory");
	memset(zeros, 0, TARGET_ZEROS);
	return source_write(transaction_source(&target->transaction), 0, offset, zeros, TARGET_ZEROS, err);
}

/* Former slots must not win, and nobody must recognise what lay there: it may have signatures at both ends. */
static int target_wipe(struct target *target, struct error *err)
{
	int r;

	if (!target->is_device)
		return 0; /* a file that was just made */
	r = target_write_zeros(target, 0, err);
	if (r == 0 && target->wipe)
		r = target_write_zeros(target, round_down(target->transaction.capacity, DSFS_BLOCK) - TARGET_ZEROS,
				       err);
	return r;
}

int target_begin(struct target *target, struct error *err)
{
	int r = target->transaction.is_new ? target_wipe(target, err) : 0;

	return r < 0 ? r : transaction_begin(&target->transaction, err);
}

void target_close(struct target *target)
{
	struct error why = { 0 };

	if (target_is_fresh(target) && !target->published && !target->is_unnamed)
		site_remove(target->former ? &target->successor : &target->site, target_fd(target));
	transaction_end(&target->transaction);
	if (target->unprotected && target_set_protection(target, true, &why) < 0)
		log_warn("cannot restore the write protection of '%s': %s, ignoring", target->path, why.reason);
	transaction_close(&target->transaction);
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
