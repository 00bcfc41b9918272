/* SPDX-License-Identifier: MIT */
/* Checks the content of files and devices, makes files, and replaces them. */
#include "output/medium.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/same.h"
#include "device/busy.h"
#include "device/locate.h"
#include "device/nvme/protect.h"
#include "image/members/address.h"
#include "image/members/superblock.h"
#include "io/read_probe.h"
#include "volume/occupant.h"

/* --- present content --- */

/* Looks for other content as well as for superblock slots: a filesystem that was made over a volume leaves some slots,
 * so they alone prove nothing. */
int medium_check_content(struct medium *medium, const char *holder, bool force, struct error *err)
{
	struct occupant occupant;
	int r = occupant_find(&medium->site, medium->file, &occupant, err);

	if (r < 0)
		return r;
	medium->is_ours = occupant.is_volume && !occupant.what[0];
	medium->is_shared = occupant.is_shared && !medium->is_ours;
	/* A publisher that is killed while it fills a new file leaves its record. */
	if (!occupant.is_nothing && (occupant.what[0] || !(medium->is_ours || medium->is_device || holder[0]))) {
		if (!force)
			return error_set(err, -EEXIST, "it holds %s, --force replaces it", occupant.what[0] ?
					 occupant.what : "something that is not a datasetfs volume");
		medium->wipe = true;
	}
	return medium->is_shared && !force ? occupant_refuse_shared(medium->file, err) : 0;
}

/* --- new files --- */

/* Returns whether a killed publisher left the file with the successor's name. Its owner is ours or the former file's; a
 * publisher that still works would hold the lock of the former file. */
static bool medium_is_remainder(const struct medium *medium)
{
	const struct site *site = &medium->successor;
	struct stat st, former;

	return fstatat(site->folder, site->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       fstat(medium->file->fd, &former) == 0 && (st.st_uid == geteuid() || st.st_uid == former.st_uid);
}

/* Gives the successor a random name: users who may write to the folder can put something under a known one. */
static int medium_rename_successor(struct medium *medium, struct error *err)
{
	site_close(&medium->successor);
	return site_beside_random(&medium->site, MEDIUM_SUFFIX ".", &medium->successor, err);
}

static int medium_create_successor(struct medium *medium, struct file_source **ret, struct error *err)
{
	struct site *site = &medium->successor;
	struct stat st;
	int r = 0;

	if (medium_is_remainder(medium) && unlinkat(site->folder, site->name, 0) < 0)
		return error_errno(err, "cannot remove what a killed publisher left, '%s'", site->name);
	if (fstatat(site->folder, site->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		r = medium_rename_successor(medium, err);
	return r < 0 ? r : file_open_site(site, FILE_UNNAMED, ret, err);
}

static int medium_copy_mode(const struct medium *medium, const struct file_source *from,
			    const struct file_source *fresh, struct error *err)
{
	struct stat former;

	if (fstat(from->fd, &former) < 0)
		return error_errno(err, "fstat");
	if ((geteuid() == 0 && fchown(fresh->fd, former.st_uid, former.st_gid) < 0) ||
	    fchmod(fresh->fd, former.st_mode & 07777) < 0)
		return error_errno(err, "cannot give '%s' the mode and owner of '%s'", medium->successor.name,
				   medium->site.name);
	return 0;
}

/* Makes the file that replaces an existing one at the very end, so that a failure before leaves that as it was. A file
 * that is bind-mounted by itself, as into a container, cannot be replaced: a mount point is no target of a rename. */
static int medium_open_successor(struct medium *medium, struct file_source **ret_fresh, struct error *err)
{
	struct file_source *fresh;
	int r;

	if (site_is_mount(&medium->site))
		return error_set(err, -EINVAL,
				 "this file is itself a bind mount and cannot be replaced; mount the directory that "
				 "contains it instead");
	r = site_beside(&medium->site, MEDIUM_SUFFIX, &medium->successor, err);
	if (r == 0)
		r = medium_create_successor(medium, &fresh, err);
	if (r < 0)
		return r;
	r = medium->is_shared ? 0 : medium_copy_mode(medium, medium->file, fresh, err);
	if (r < 0) {
		file_close(fresh);
		return r;
	}
	medium->former = medium->file;
	medium->file = *ret_fresh = fresh;
	medium->wipe = false;
	return 0;
}

int medium_start_afresh(struct medium *medium, bool dry_run, struct file_source **ret_fresh, struct error *err)
{
	*ret_fresh = NULL;
	if (medium->is_device)
		return busy_check_served(medium->number, err);
	return dry_run ? 0 : medium_open_successor(medium, ret_fresh, err);
}

/* Links the successor under its name. linkat(2) replaces nothing, so a name that is taken makes it choose another. */
static int medium_link_successor(struct medium *medium, struct error *err)
{
	int r = site_link(&medium->successor, medium->file->fd, err);

	if (r == -EEXIST)
		r = medium_rename_successor(medium, err);
	return r < 0 ? r : site_link(&medium->successor, medium->file->fd, err);
}

int medium_name(struct medium *medium, bool is_fresh, struct error *err)
{
	int r = medium->former ? medium_link_successor(medium, err) : 0;

	return r == 0 && is_fresh ? site_sync(&medium->site, err) : r;
}

/* After the rename the former volume is gone, so a later failure is only logged: the publish did not fail. */
int medium_replace_former(struct medium *medium, struct error *err)
{
	struct error why = { 0 };
	int r;

	if (!medium->former)
		return 0;
	r = site_replace(&medium->successor, medium->file->fd, &medium->site, medium->former->fd, err);
	if (r < 0)
		return r;
	if (site_sync(&medium->site, &why) < 0)
		log_warn("the version is published, but a power loss may bring back the old volume: %s, ignoring",
			 why.reason);
	return 0;
}

void medium_give_up(const struct medium *medium)
{
	site_remove(medium->former ? &medium->successor : &medium->site, medium->file->fd);
}

/* --- write protection --- */

int medium_set_protection(const struct medium *medium, bool on, struct error *err)
{
	auto_close int fd = -1;
	int r = site_open(&medium->site, O_RDONLY, &fd, err);

	return r < 0 ? r : protect_set(fd, on, err);
}

static int medium_refuse_mapping(struct error *err)
{
	return error_set(err, -EROFS,
			 "its mapping is read-only on this host: close it and open it for writing, while the device "
			 "below is not write-protected");
}

/* Lifts write protection with --write-protect; refuses a read-only medium without it. */
static int medium_unprotect(struct medium *medium, const struct pack_options *options, struct error *err)
{
	auto_close int fd = -1;
	int r = site_open(&medium->site, O_RDONLY, &fd, err);

	if (r == 0 && options->write_protect)
		r = protect_check(fd, err);
	if (r < 0 || !protect_is_read_only(fd))
		return r;
	if (protect_is_by_mapping(fd))
		return medium_refuse_mapping(err);
	if (!options->write_protect)
		return error_set(err, -EROFS,
				 protect_check(fd, NULL) == 0 ?
					 "it is write-protected; --write-protect lifts that for the publish" :
					 "it is read-only");
	r = protect_set(fd, false, err);
	medium->unprotected = r == 0;
	return r == 0 && protect_is_read_only(fd) ? medium_refuse_mapping(err) : r;
}

/* --- opening --- */

/* Returns whether the path names a device: after a typing error a file would fill the memory of '/dev'. */
static bool medium_is_device_name(const char *path)
{
	return !strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9) != 0;
}

static int medium_plan(struct medium *medium, const struct pack_options *options, struct error *err)
{
	if (medium_is_device_name(medium->path))
		return error_set(err, -ENOENT, "there is no such device");
	if (options->write_protect)
		return error_set(err, -ENOENT, "it does not exist, so it cannot be write-protected");
	return site_plan(medium->path, &medium->site, err);
}

/* Finds out whether it is a device or a regular file. */
static int medium_look(struct medium *medium, struct error *err)
{
	struct stat st;

	if (fstat(medium->site.file, &st) < 0)
		return error_errno(err, "fstat");
	medium->is_device = S_ISBLK(st.st_mode);
	medium->is_file = S_ISREG(st.st_mode);
	medium->number = st.st_rdev;
	return 0;
}

int medium_find(const char *name, const struct pack_options *options, struct medium *ret, struct error *err)
{
	int r;

	*ret = MEDIUM_MISSING;
	r = locate_path(name, &ret->path, err);
	if (r < 0)
		return r;
	r = site_find(ret->path, &ret->site, err);
	if (r == -ENOENT)
		r = medium_plan(ret, options, err);
	else if (r == 0)
		r = medium_look(ret, err);
	if (r < 0)
		medium_close(ret);
	return r;
}

int medium_again(const char *name, int fd, struct medium *ret, struct error *err)
{
	int r;

	*ret = MEDIUM_MISSING;
	r = locate_path(name, &ret->path, err);
	if (r == 0)
		r = site_again(ret->path, fd, &ret->site, err);
	if (r == 0)
		r = medium_look(ret, err);
	if (r < 0)
		medium_close(ret);
	return r;
}

bool medium_is_member(const struct medium *medium, int64_t patience)
{
	struct site site = medium->site;
	struct superblock super = { 0 };
	struct read_probe *probe = NULL;
	struct file_source *file;
	int r = 0;

	if (site.file < 0 || file_open_site(&site, FILE_READ, &file, NULL) < 0)
		return false;
	file->patience = patience;
	if (read_probe_begin(file->fd, &probe, NULL) == 0)
		r = read_probe_end(probe, patience, NULL);
	if (r < 0 || superblock_find(&file->source, 0, &super, NULL) < 0)
		super.feature_incompat = 0;
	file_close(file);
	return super.feature_incompat & DSFS_INCOMPAT_MEMBERS;
}

int medium_admit(struct medium *medium, const struct pack_options *options, struct error *err)
{
	int r = medium->is_device ? busy_check(medium->number, err) : 0;

	if (r == 0 && !options->dry_run && (medium->is_device || medium->is_file))
		r = medium_unprotect(medium, options, err);
	return r;
}

bool medium_is_same(const struct medium *a, const struct medium *b)
{
	bool is_new = a->site.file < 0;
	struct stat x, y;

	if (is_new != (b->site.file < 0) || (is_new && strcmp(a->site.name, b->site.name) != 0) ||
	    fstat(is_new ? a->site.folder : a->site.file, &x) < 0 ||
	    fstat(is_new ? b->site.folder : b->site.file, &y) < 0)
		return false;
	if (a->is_device && b->is_device)
		return x.st_rdev == y.st_rdev;
	return same_file(&x, &y);
}

int medium_know(struct medium *medium, struct file_source *file, bool dry_run, struct error *err)
{
	struct stat st;
	int r;

	medium->file = file;
	medium->is_device = file->geometry.is_block_device;
	if (fstat(file->fd, &st) < 0)
		return error_errno(err, "fstat");
	if (!medium->is_device) {
		medium->device = st.st_dev;
		medium->inode = st.st_ino;
	}
	r = locate_identity(file->fd, medium->identity, err);
	if (r == 0)
		r = locate_domain(file->fd, medium->domain, err);
	if (r == 0 && dry_run && !medium->is_device)
		r = site_name(&medium->site, file->fd, err); /* for temporary files */
	return r;
}

/* --- first write, and closing --- */

/* Wipes old superblock slots, which must not win over new ones, and signatures of other content at both ends. */
int medium_wipe(struct medium *medium, uint64_t capacity, struct error *err)
{
	if (!medium->is_device)
		return 0; /* a file was just made */
	return occupant_wipe(medium->file, capacity, medium->wipe, err);
}

void medium_close(struct medium *medium)
{
	struct error why = { 0 };

	if (medium->unprotected && medium_set_protection(medium, true, &why) < 0)
		log_warn("cannot restore the write protection of '%s': %s, ignoring", medium->path, why.reason);
	file_close(medium->former);
	site_close(&medium->site);
	site_close(&medium->successor);
	free(medium->path);
}
