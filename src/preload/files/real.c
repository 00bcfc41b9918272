/* SPDX-License-Identifier: MIT */
/* Opens the file that a placeholder stands for, by the first way that works, and moves it to the number. */
#include "preload/files/real.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/transfer.h"
#include "datasetfs/control.h"
#include "preload/files/contents.h"
#include "preload/files/where.h"
#include "preload/process/inside.h"
#include "preload/process/next.h"
#include "preload/process/own.h"
#include "preload/process/placeholder.h"
#include "preload/process/private.h"
#include "preload/process/report.h"
#include "preload/process/settings.h"

bool real_is(int fd, const struct table_file *file)
{
	struct stat st;

	return next()->fstat(fd, &st) == 0 && st.st_dev == file->dataset->device && st.st_ino == file->id;
}

/* Opens the file by its path in the mount, below folder; fails unless it is the same inode of the same mount. */
static int real_open_at(const struct table_file *file, const char *root, const char *folder)
{
	char path[DATASET_ROOT + TABLE_PATH + 512];
	auto_close int fd = -1;

	if (snprintf(path, sizeof(path), "%s/%s%s", root, folder, file->below) >= (int)sizeof(path))
		return -1;
	fd = next()->open(path, file->flags | O_CLOEXEC);
	if (fd < 0)
		return -1;
	errno = ENOENT; /* this path leads to another file */
	return real_is(fd, file) ? take_fd(&fd) : -1;
}

/* Opens the file in its version's own directory, which exists as long as the version is on the volume. */
static int real_open_version(const struct table_file *file, const char *root)
{
	char folder[256];

	snprintf(folder, sizeof(folder), "%s/versions/%s/", DSFS_CONTROL_FOLDER, file->opened->info.label);
	return real_open_at(file, root, folder);
}

/* Opens a sealed copy in memory, when the mount is gone or this process may not use it any more. */
static int real_open_memory(struct table_file *file)
{
	const uint8_t *contents = contents_load(file);
	auto_close int fd = contents ? memfd_create("datasetfs", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
	char path[FDNAME_LINK_SIZE];

	if (fd < 0 || transfer_write(fd, contents, file->size) < 0 ||
	    next()->fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return -1;
	fdname_link(fd, path);
	return next()->open(path, file->flags | O_CLOEXEC);
}

static int real_open_mount(const struct table_file *file, const struct dataset *mount)
{
	int fd = real_open_at(file, mount->root, "");

	return fd < 0 && errno != EMFILE ? real_open_version(file, mount->root) : fd;
}

/* Tries all mounts of the device: the mount may have been moved, or mounted at a second place. */
static int real_open_elsewhere(const struct table_file *file)
{
	const struct dataset *mount = NULL;
	int fd = -1;

	datasets_look_again();
	errno = ENOENT;
	while (fd < 0 && errno != EMFILE && (mount = datasets_next(file->dataset->device, mount)))
		fd = real_open_mount(file, mount);
	return fd;
}

/* Uses the mount only while it is served: after that another volume may have its device and inode numbers. */
static int real_open(struct table_file *file)
{
	int fd = -1;

	errno = ENOENT;
	if (datasets_goes_on(file->opened)) {
		fd = real_open_mount(file, file->dataset);
		if (fd < 0 && errno != EMFILE)
			fd = real_open_elsewhere(file);
	}
	return fd < 0 && errno != EMFILE ? real_open_memory(file) : fd;
}

static bool real_replace(struct table_file *file, int fd)
{
	int flags = next()->fcntl(fd, F_GETFD);
	auto_close int real = flags < 0 ? -1 : real_open(file);

	return real >= 0 && next()->lseek(real, (off_t)file->offset, SEEK_SET) >= 0 &&
	       next()->dup3(real, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) >= 0;
}

/* Raises the limit meanwhile: the program may have used up its numbers, or lowered the limit below this one, and this
 * takes one number more. */
static bool real_replace_beyond(struct table_file *file, int fd)
{
	struct rlimit limit, most;
	bool is_done;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return false;
	most = (struct rlimit){ .rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max };
	if (most.rlim_cur == limit.rlim_cur || setrlimit(RLIMIT_NOFILE, &most) < 0)
		return false;
	is_done = real_replace(file, fd);
	setrlimit(RLIMIT_NOFILE, &limit);
	return is_done;
}

/* Uses the spare number, when the limit cannot be raised. */
static bool real_replace_spare(struct table_file *file, int fd)
{
	bool is_done;

	if (!placeholder_spare())
		return false;
	is_done = real_replace(file, fd);
	placeholder_respare();
	return is_done;
}

bool real_make_entry(struct table_entry *entry, int fd, const char *caller)
{
	bool is_there = entry->file.is_real || real_replace(&entry->file, fd) ||
			real_replace_beyond(&entry->file, fd) || real_replace_spare(&entry->file, fd);

	if (is_there) {
		report_real(caller);
		table_drop(entry);
	} else if (!entry->file.is_lost) {
		report_real(caller);
		report_lost();
		entry->file.is_lost = true;
	}
	return is_there;
}

void real_make(int fd, const char *caller)
{
	struct table_entry *entry = table_get(fd);

	if (!entry)
		return;
	(void)real_make_entry(entry, fd, caller);
	table_put(entry);
}

void real_make_named(const char *path)
{
	int number = path && table_has_any() ? where_number(path) : -1;
	struct inside inside;

	if (number < 0 || !inside_enter(&inside))
		return;
	real_make(number, "open");
	inside_leave(&inside);
}

void real_make_all(const char *caller)
{
	for (int fd = table_next(0); fd >= 0; fd = table_next((unsigned)fd + 1))
		real_make(fd, caller);
}

void real_stop(const char *caller)
{
	settings_stop();
	real_make_all(caller);
	for (int fd = table_next(0); fd >= 0; fd = table_next((unsigned)fd + 1))
		table_forget(fd); /* a lost file */
	datasets_stop();
}

void real_make_for_lock(int fd, const char *caller)
{
	struct stat st;

	real_make(fd, caller);
	if (next()->fstat(fd, &st) < 0 || !datasets_have(st.st_dev))
		return;
	real_stop(caller);
}

void real_lose_own(unsigned first, unsigned last, const char *caller)
{
	if (private_is_anothers()) /* a child of vfork(2) has its own descriptors */
		return;
	for (int own = own_next(first); own >= 0 && (unsigned)own <= last; own = own_next((unsigned)own + 1)) {
		real_stop(caller);
		report_leave(own);
		own_remove(own);
	}
}
