/* SPDX-License-Identifier: MIT */
/* Hooks open(2): a file of a data set gets a placeholder. We report only success; the mount reports every error. */
#include <stdarg.h>
#include <string.h>

#include "image/index.h"
#include "image/inode.h"
#include "lib/api/handle.h"
#include "lib/direct/direct.h"
#include "lib/high.h"
#include "lib/permission.h"
#include "preload/files/contents.h"
#include "preload/files/real.h"
#include "preload/files/table.h"
#include "preload/files/where.h"
#include "preload/hooks/hook.h"
#include "preload/hooks/serving.h"
#include "preload/process/inside.h"
#include "preload/process/next.h"
#include "preload/process/own.h"
#include "preload/process/placeholder.h"
#include "preload/process/report.h"
#include "preload/process/settings.h"

#define OPEN_LARGEST (UINT64_C(4) << 20) /* bytes of a file; a larger one is left to the mount */
#define OPEN_FLAGS (O_CLOEXEC | O_NONBLOCK | O_NOCTTY | TABLE_LARGEFILE)

/* --- finding it --- */

static bool open_may_read(const struct inode *inode)
{
	struct permission permission = { 0 };
	int r = permission_check(&permission, inode, PERMISSION_READ, NULL);

	permission_end(&permission);
	return r == 0;
}

static bool open_look_up(const struct where *where, struct table_file *ret)
{
	const struct direct *direct = (const struct direct *)where->opened;
	struct inode inode;
	uint64_t id;

	if (where->opened->backend->lookup(where->opened, where->below, &id, NULL) < 0 ||
	    inode_get(direct->version.index, direct_ordinal(direct, id), &inode, NULL) < 0)
		return false;
	if (!S_ISREG(inode.mode) || inode.size > OPEN_LARGEST || strlen(where->below) >= TABLE_PATH) {
		report_unserved(S_ISREG(inode.mode) && inode.size > OPEN_LARGEST ? REPORT_LARGE : REPORT_OTHER);
		return false;
	}
	if (!open_may_read(&inode))
		return false;
	ret->dataset = where->dataset;
	ret->opened = where->opened;
	ret->id = id;
	ret->size = inode.size;
	return true;
}

static bool open_find(int directory, const char *path, int flags, struct table_file *ret)
{
	struct where where;

	if (!path || !where_find(&where, directory, path))
		return false;
	if (flags & ~OPEN_FLAGS) {
		report_unserved(REPORT_FLAGS);
	} else if (open_look_up(&where, ret)) {
		ret->flags = flags & O_NONBLOCK; /* the only flag of them that F_GETFL shows */
		strcpy(ret->below, where.below);
		return true;
	}
	handle_put(where.opened);
	return false;
}

/* --- serving it --- */

static int open_placeholder(const struct table_file *file, int flags)
{
	int fd = placeholder_new(flags);

	if (fd < 0 || table_add(fd, file))
		return fd;
	next()->close(fd);
	return -1;
}

/* Opens on the mount for --compat, and enters the file, so that reads are served. */
static int open_real(int directory, const char *path, int flags, struct table_file *file)
{
	int fd = next()->openat(directory, path, flags);

	file->is_real = true;
	if (fd < 0 || !real_is(fd, file) || !table_add(fd, file))
		handle_put(file->opened);
	return fd;
}

static int open_serve(int directory, const char *path, int flags)
{
	bool is_compat = settings_mode() == SETTINGS_COMPAT;
	struct table_file file;
	int fd;

	file.is_real = file.is_lost = false;
	file.offset = 0;
	file.contents = NULL;
	if (!open_find(directory, path, flags, &file))
		return -1;
	fd = is_compat ? open_real(directory, path, flags, &file) : open_placeholder(&file, flags);
	if (fd >= 0)
		report_opened();
	else if (!is_compat)
		handle_put(file.opened);
	if (fd >= 0 && settings_mode() == SETTINGS_OFF) /* stopped by a thread that may not have seen it */
		real_make(fd, "open");
	return fd;
}

static bool open_is_ready(void)
{
	return datasets_make() && contents_make() && table_make() && report_make();
}

static bool open_is_to_read(int flags)
{
	return (flags & (O_ACCMODE | O_PATH | O_CREAT | O_TRUNC | O_DIRECTORY)) == O_RDONLY;
}

/* Serves openat(2); negative: the caller must call the next function. */
static int open_try(int directory, const char *path, int flags)
{
	struct inside inside;
	int fd = -1;

	if (settings_mode() == SETTINGS_OFF && !table_has_any())
		return -1;
	pthread_testcancel();
	if (!inside_enter(&inside))
		return -1;
	if (settings_mode() != SETTINGS_OFF && open_is_to_read(flags) && open_is_ready())
		fd = open_serve(directory, path, flags);
	inside_leave(&inside);
	if (fd < 0)
		real_make_named(path);
	return fd;
}

/* Forgets a file of ours that had this number and was closed unseen. */
static int open_opened(int fd)
{
	serving_forget(fd);
	return fd;
}

/* Moves a descriptor of our own code to a large number: LMDB opens files itself. */
static int open_own(int fd)
{
	if (fd >= 0)
		high_move(&fd);
	return fd;
}

/* --- the hooks --- */

HOOK(openat);
int hook_openat(int directory, const char *path, int flags, ...)
{
	int fd = inside_is ? -1 : open_try(directory, path, flags);
	va_list rest;

	if (fd >= 0)
		return fd;
	va_start(rest, flags);
	fd = next()->openat(directory, path, flags, va_arg(rest, mode_t));
	va_end(rest);
	return OWN_CALLS() ? open_own(fd) : open_opened(fd);
}

HOOK(open);
int hook_open(const char *path, int flags, ...)
{
	int fd = inside_is ? -1 : open_try(AT_FDCWD, path, flags);
	va_list rest;

	if (fd >= 0)
		return fd;
	va_start(rest, flags);
	fd = next()->open(path, flags, va_arg(rest, mode_t));
	va_end(rest);
	return OWN_CALLS() ? open_own(fd) : open_opened(fd);
}

HOOK(__open_2);
int hook___open_2(const char *path, int flags)
{
	int fd = open_try(AT_FDCWD, path, flags);

	return fd >= 0 ? fd : open_opened(next()->__open_2(path, flags));
}

HOOK(__openat_2);
int hook___openat_2(int directory, const char *path, int flags)
{
	int fd = open_try(directory, path, flags);

	return fd >= 0 ? fd : open_opened(next()->__openat_2(directory, path, flags));
}

HOOK_ALIAS(open64, open);
HOOK_ALIAS(__open, open);
HOOK_ALIAS(__open64, open);
HOOK_ALIAS(openat64, openat);
HOOK_ALIAS(__open64_2, __open_2);
HOOK_ALIAS(__openat64_2, __openat_2);
