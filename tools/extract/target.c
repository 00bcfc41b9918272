/* SPDX-License-Identifier: MIT */
/* Keeps the directories on the path of the last entry open. Entries come in the order of tree.h, so a directory that is
 * left is complete, and gets its attributes then: before, it may have none that would keep its owner from writing. */
#include "extract/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/transfer.h"
#include "extract/outfile.h"
#include "io/full.h"
#include "walk.h"

struct target_level {
	int fd;
	size_t length;      /* of its path */
	bool is_new;        /* made by us, with the attributes of inode to come */
	struct inode inode;
};

struct target {
	struct target_setup setup;
	struct target_level *levels; /* the first is the directory itself, "." */
	size_t depth;
	char *path;                  /* of the last level */
	struct outfile file;         /* that is being written */
	struct inode inode;          /* its inode */
	char *file_path;
	uint64_t at;                 /* in the file */
	uint64_t lost;
};

/* ---- attributes ---- */

struct target_xattrs {
	struct target *target;
	int fd;
	struct error *err;
};

static int target_xattr(void *argument, struct span name, struct span value)
{
	struct target_xattrs *xattrs = argument;
	char text[DSFS_NAME_MAX + 1] = "";

	memcpy(text, name.base, name.size < DSFS_NAME_MAX ? name.size : DSFS_NAME_MAX);
	if (fsetxattr(xattrs->fd, text, value.base, value.size, 0) == 0)
		return 0;
	if (errno != ENOTSUP && errno != ENOSPC && errno != E2BIG)
		return error_errno(xattrs->err, "cannot set the attribute '%s'", text);
	xattrs->target->lost++;
	return 0;
}

static void target_times(const struct inode *inode, struct timespec ret[2])
{
	ret[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
	ret[1] = (struct timespec){ .tv_sec = inode->mtime, .tv_nsec = inode->mtime_nsec };
}

/* Sets owner, mode, attributes and times of an open file. Only root gives files to others; a user's files are the
 * user's. A change of the owner takes the setuid bit away, so the mode comes after it. */
static int target_dress(struct target *target, int fd, const struct inode *inode, struct error *err)
{
	struct target_xattrs xattrs = { .target = target, .fd = fd, .err = err };
	mode_t mode = inode->mode & (target->setup.suid ? 07777 : 01777);
	struct timespec times[2];
	int r;

	target_times(inode, times);
	if (geteuid() == 0 && fchown(fd, inode->uid, inode->gid) < 0)
		return error_errno(err, "cannot set the owner");
	r = inode_xattrs(target->setup.index, inode, target_xattr, &xattrs, err);
	if (r < 0)
		return r;
	if (fchmod(fd, mode) < 0)
		return error_errno(err, "cannot set the mode");
	return futimens(fd, times) < 0 ? error_errno(err, "cannot set the time") : 0;
}

/* ---- directories ---- */

static int target_pop(struct target *target, struct error *err)
{
	struct target_level *level = &target->levels[target->depth - 1];
	int r = level->is_new ? target_dress(target, level->fd, &level->inode, err) : 0;

	if (r < 0)
		return error_wrap(err, r, "'%s'", target->path);
	close_fd(&level->fd);
	target->depth--;
	if (target->depth)
		target->path[target->levels[target->depth - 1].length] = 0;
	return 0;
}

static int target_push(struct target *target, const struct target_level *level, struct error *err)
{
	int r = grow_one(target->levels, target->depth, err);

	if (r == 0)
		target->levels[target->depth++] = *level;
	return r;
}

/* Opens a directory in the last level, or makes it. */
static int target_open_directory(struct target *target, const char *name, int *ret_fd, bool *ret_is_new,
				 struct error *err)
{
	int folder = target->levels[target->depth - 1].fd;
	bool is_new = mkdirat(folder, name, 0700) == 0;

	if (!is_new && errno != EEXIST)
		return error_errno(err, "cannot make the directory");
	*ret_fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return error_set(err, -errno, "it is there already, and is no directory");
	if (*ret_fd < 0)
		return error_errno(err, "cannot open the directory");
	*ret_is_new = is_new;
	return 0;
}

/* Goes down into a directory with a path that ends at length. */
static int target_enter(struct target *target, const char *path, size_t length, const struct inode *inode,
			struct error *err)
{
	struct target_level level = { .fd = -1, .length = length, .inode = *inode };
	size_t before = target->levels[target->depth - 1].length + 1;
	char name[DSFS_NAME_MAX + 1];
	int r;

	snprintf(name, sizeof(name), "%.*s", (int)(length - before), path + before);
	r = target_open_directory(target, name, &level.fd, &level.is_new, err);
	if (r == 0)
		r = target_push(target, &level, err);
	if (r < 0) {
		close_fd(&level.fd);
		return error_wrap(err, r, "'%.*s'", (int)length, path);
	}
	free(target->path);
	target->path = strndup(path, length);
	return target->path ? 0 : error_no_memory(err);
}

/* Returns whether path lies below the last level. */
static bool target_is_below(const struct target *target, const char *path)
{
	size_t length = target->levels[target->depth - 1].length;

	return !strncmp(path, target->path, length) && path[length] == '/';
}

static bool target_is_name(const char *name, size_t length)
{
	bool is_dots = length <= 2 && strspn(name, ".") >= length;

	return length && length <= DSFS_NAME_MAX && !is_dots;
}

/* A name that is none would lead elsewhere. */
static int target_check(const char *path, struct error *err)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
		if (!target_is_name(slash + 1, strcspn(slash + 1, "/")))
			return error_set(err, -EBADMSG, "'%s': a name in it is none", path);
	return 0;
}

/* Goes down into a directory on the way to a path that was asked for, which the stream does not bring: one that is to
 * be made must not let in more people than that of the version. */
static int target_enter_parent(struct target *target, const char *path, size_t length, struct error *err)
{
	auto_free char *parent = strndup(path, length);
	struct inode inode;
	uint64_t ordinal;
	int r = parent ? walk_find(target->setup.index->names, parent + 1, &ordinal, err) : error_no_memory(err);

	if (r == 0)
		r = inode_get(target->setup.index, ordinal, &inode, err);
	return r < 0 ? r : target_enter(target, path, length, &inode, err);
}

/* Makes the directory that holds the path the last level. */
static int target_go(struct target *target, const char *path, struct error *err)
{
	const char *slash;
	int r = target_check(path, err);

	while (r == 0 && !target_is_below(target, path))
		r = target_pop(target, err);
	while (r == 0 && (slash = strchr(path + target->levels[target->depth - 1].length + 1, '/')))
		r = target_enter_parent(target, path, (size_t)(slash - path), err);
	return r;
}

/* ---- names that take their place at once ---- */

/* Calls make() for a name in the folder; or, if that is taken and may be replaced, for another, which then gets it. */
static int target_place(struct target *target, const char *path,
			int (*make)(const void *argument, int folder, const char *name), const void *argument,
			struct error *err)
{
	int folder = target->levels[target->depth - 1].fd;
	const char *name = strrchr(path, '/') + 1;
	char beside[64];
	uint64_t digits;
	int r;

	if (make(argument, folder, name) == 0)
		return 0;
	if (errno == EEXIST && !target->setup.force)
		return error_set(err, -EEXIST, "'%s': it is there already: --force replaces it", path);
	if (errno != EEXIST)
		return error_errno(err, "cannot make '%s'", path);
	if (getrandom(&digits, sizeof(digits), 0) < 0)
		return error_errno(err, "cannot get random bytes");
	snprintf(beside, sizeof(beside), ".new.%016" PRIx64, digits);
	if (make(argument, folder, beside) < 0)
		return error_errno(err, "cannot make '%s'", path);
	r = renameat(folder, beside, folder, name) < 0 ? error_errno(err, "cannot replace '%s'", path) : 0;
	unlinkat(folder, beside, 0); /* it is still there as well if both are the same file */
	return r;
}

static int target_make_symlink(const void *text, int folder, const char *name)
{
	return symlinkat(text, folder, name);
}

/* Gives a new link its owner: by a descriptor, as another user who may write in the folder may have put another file
 * there by now, such as a hard link to one of root's. */
static int target_own_symlink(int folder, const char *name, const struct inode *inode, struct error *err)
{
	auto_close int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, "cannot open it");
	if (!S_ISLNK(st.st_mode))
		return error_set(err, -EBUSY, "another file took its name meanwhile");
	return fchownat(fd, "", inode->uid, inode->gid, AT_EMPTY_PATH) < 0 ?
		       error_errno(err, "cannot set the owner") : 0;
}

static int target_symlink(struct target *target, const char *path, const struct inode *inode, struct error *err)
{
	int folder = target->levels[target->depth - 1].fd;
	const char *name = strrchr(path, '/') + 1;
	auto_free char *text = NULL;
	struct timespec times[2];
	struct span span;
	int r = inode_link_target(target->setup.index, inode, &span, err);

	if (r < 0)
		return r;
	text = strndup((const char *)span.base, span.size);
	if (!text)
		return error_no_memory(err);
	r = target_place(target, path, target_make_symlink, text, err);
	if (r < 0)
		return r;
	if (geteuid() == 0)
		r = target_own_symlink(folder, name, inode, err);
	if (r < 0)
		return error_wrap(err, r, "'%s'", path);
	target_times(inode, times);
	return utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW) < 0 ?
		       error_errno(err, "cannot set the time of '%s'", path) : 0;
}

/* The other name of a hard link, in its directory. */
struct target_other {
	int folder;
	const char *name;
};

static int target_make_link(const void *argument, int folder, const char *name)
{
	const struct target_other *other = argument;

	return linkat(other->folder, other->name, folder, name, 0);
}

/* Opens the directory of an earlier path, step by step. */
static int target_find_folder(const struct target *target, const char *path, int *ret, struct error *err)
{
	auto_close int fd = fcntl(target->levels[0].fd, F_DUPFD_CLOEXEC, 0);
	const char *name = strchr(path, '/') + 1, *slash;
	char text[DSFS_NAME_MAX + 1];
	int next;

	for (; fd >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
		snprintf(text, sizeof(text), "%.*s", (int)(slash - name), name);
		next = openat(fd, text, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close_fd(&fd);
		fd = next;
	}
	if (fd < 0)
		return error_errno(err, "cannot open the directory of '%s'", path);
	*ret = take_fd(&fd);
	return 0;
}

static int target_link(struct target *target, const char *path, const char *earlier, struct error *err)
{
	auto_close int folder = -1;
	struct target_other other = { .name = strrchr(earlier, '/') + 1 };
	int r = target_check(earlier, err);

	if (r == 0)
		r = target_find_folder(target, earlier, &folder, err);
	other.folder = folder;
	return r < 0 ? r : target_place(target, path, target_make_link, &other, err);
}

/* ---- entries ---- */

/* Protects the volume, which may lie in the directory under a name that the version has as well. */
static int target_check_former(const struct target *target, const char *path, struct error *err)
{
	struct stat former;
	int r = 0;

	if (target->setup.force &&
	    fstatat(target->levels[target->depth - 1].fd, strrchr(path, '/') + 1, &former, AT_SYMLINK_NOFOLLOW) == 0)
		r = outfile_check_volume(target->setup.volume, &former, err);
	return r < 0 ? error_wrap(err, r, "'%s'", path) : 0;
}

static int target_file(struct target *target, const char *path, const struct inode *inode, struct error *err)
{
	target->file_path = strdup(path);
	if (!target->file_path)
		return error_no_memory(err);
	target->inode = *inode;
	target->at = 0;
	return outfile_open_in(target->levels[target->depth - 1].fd, strrchr(path, '/') + 1, target->file_path,
			       target->setup.force, &target->file, err);
}

static int target_head(void *argument, const struct stream_entry *entry, struct error *err)
{
	struct target *target = argument;
	const struct inode *inode = entry->inode;
	int r;

	if (!strcmp(entry->path, ".")) /* the directory is there, and keeps its attributes */
		return 0;
	r = target_go(target, entry->path, err);
	if (r == 0)
		r = target_check_former(target, entry->path, err);
	if (r < 0)
		return r;
	if (entry->link)
		return target_link(target, entry->path, entry->link, err);
	if (S_ISDIR(inode->mode))
		return target_enter(target, entry->path, strlen(entry->path), inode, err);
	if (S_ISLNK(inode->mode))
		return target_symlink(target, entry->path, inode, err);
	return target_file(target, entry->path, inode, err);
}

static int target_failed(const struct target *target, struct error *err)
{
	char full[FULL_TEXT_SIZE];
	int code = errno;

	if (!full_is(code))
		return error_set(err, -code, "cannot write '%s': %s", target->file_path, strerror(code));
	full_describe(target->file.fd, code, full);
	return error_set(err, -code, "cannot write '%s': %s", target->file_path, full);
}

static int target_data(void *argument, const void *bytes, size_t length, struct error *err)
{
	struct target *target = argument;

	if (transfer_write_at(target->file.fd, bytes, length, target->at) < 0)
		return target_failed(target, err);
	target->at += length;
	return 0;
}

/* Leaves a hole: the file gets its length in the end. */
static int target_hole(void *argument, uint64_t length, struct error *err)
{
	(void)err;
	((struct target *)argument)->at += length;
	return 0;
}

static void target_drop_file(struct target *target)
{
	outfile_close(&target->file);
	target->file = OUTFILE_NONE;
	free(target->file_path);
	target->file_path = NULL;
}

static int target_end(void *argument, struct error *err)
{
	struct target *target = argument;
	int r;

	if (target->file.fd < 0) /* it was no regular file */
		return 0;
	if (ftruncate(target->file.fd, (off_t)target->inode.size) < 0)
		return target_failed(target, err);
	r = target_dress(target, target->file.fd, &target->inode, err);
	if (r == 0)
		r = outfile_name(&target->file, err);
	if (r < 0)
		return error_wrap(err, r, "'%s'", target->file_path);
	target_drop_file(target);
	return 0;
}

const struct stream_taker target_taker = {
	.head = target_head,
	.data = target_data,
	.hole = target_hole,
	.end = target_end,
};

/* ---- the target ---- */

int target_open(const struct target_setup *setup, struct target **ret, struct error *err)
{
	struct target_level level = { .fd = open(setup->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .length = 1 };
	struct target *target;
	int r;

	if (level.fd < 0)
		return error_errno(err, "cannot open the directory '%s'", setup->directory);
	target = calloc(1, sizeof(*target));
	if (!target) {
		close_fd(&level.fd);
		return error_no_memory(err);
	}
	target->setup = *setup;
	target->file = OUTFILE_NONE;
	r = target_push(target, &level, err);
	if (r < 0)
		close_fd(&level.fd);
	target->path = strdup(".");
	if (r == 0 && !target->path)
		r = error_no_memory(err);
	if (r < 0) {
		target_close(target);
		return r;
	}
	*ret = target;
	return 0;
}

int target_finish(struct target *target, struct error *err)
{
	int r = 0;

	while (r == 0 && target->depth > 1)
		r = target_pop(target, err);
	return r;
}

void target_close(struct target *target)
{
	if (!target)
		return;
	target_drop_file(target);
	while (target->depth)
		close_fd(&target->levels[--target->depth].fd);
	free(target->levels);
	free(target->path);
	free(target);
}

uint64_t target_lost_attributes(const struct target *target)
{
	return target->lost;
}
