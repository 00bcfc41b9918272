/* SPDX-License-Identifier: MIT */
/* An open of a file costs its program 1.7 µs if we are told of it, which a shuffled reader would notice. So we are told
 * of opens of directories only, and of files only in a directory that was opened a moment ago, or is being walked. */
#include "kernelmount/walks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "device/mount_record.h"

#define WALKS_FOLDERS 64u                  /* limit of directories that are watched */
#define WALKS_NAMES   (1u << 18)           /* limit of their files, and of entries of one */
#define WALKS_LENGTHS (1u << 24)           /* limit of bytes of their files' names */
#define WALKS_STEPS   4u                   /* names in their order that show a walk; by chance 1 of 120 */
#define WALKS_SKIP    4u                   /* largest step of a walk: names that it passes over */
#define WALKS_FILES   64u                  /* files ahead of a walk */
#define WALKS_UNUSED  8u                   /* directories after which a process that has walked only lists them */
#define WALKS_BYTES   (1u << 20)           /* of each file; the kernel reads on by itself */
#define WALKS_LIVE    INT64_C(2000000000)  /* ns for which files are watched without a walk */
#define WALKS_PAUSE   INT64_C(30000000000) /* ns for which a walk may be in one file */
#define WALKS_EVENTS  65536u               /* bytes that are read at a time */

#ifndef FAN_MARK_IGNORE /* Linux 6.0 */
#define FAN_MARK_IGNORE 0x00000400
#endif

struct walks_handle {
	int type;
	unsigned size;
	uint8_t bytes[MAX_HANDLE_SZ];
};

struct walks_folder {
	struct walks_handle handle; /* size 0: none */
	int64_t used;
	pid_t pid;               /* the process that has opened the file `last` */
	unsigned steps;          /* its files in order, up to that */
	char last[NAME_MAX + 1];
	bool is_walked;          /* at is the number of `last`; SIZE_MAX: before the first */
	size_t at, ahead;        /* ahead: number of the first file that was not read ahead */
	bool is_listed;          /* or cannot be */
	char **names;            /* of its regular files, sorted; none: it is not followed */
	size_t count, room, length; /* length: bytes of the names */
};

struct walks {
	const char *mountpoint;
	uint64_t id;  /* of the mount that is watched; 0: none */
	int opened;   /* group that tells of directories, -1: none */
	int files;    /* group that tells of files in the directories in `folders` */
	pid_t walker; /* a process that has walked a directory, and may walk the next one; 0: none */
	unsigned unused; /* directories that it has opened since */
	size_t count, length; /* of all names of `folders` */
	struct walks_folder folders[WALKS_FOLDERS];
};

struct walks *walks_open(const char *mountpoint)
{
	struct walks *walks = calloc(1, sizeof(*walks));

	if (!walks)
		return NULL;
	walks->mountpoint = mountpoint;
	walks->opened = walks->files = -1;
	return walks;
}

/* ---- directories ---- */

static void walks_names_free(struct walks *walks, struct walks_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		free(folder->names[i]);
	free(folder->names);
	folder->names = NULL;
	walks->count -= folder->count;
	walks->length -= folder->length;
	folder->count = folder->room = folder->length = 0;
}

static void walks_folder_free(struct walks *walks, struct walks_folder *folder)
{
	walks_names_free(walks, folder);
	*folder = (struct walks_folder){ 0 };
}

static void walks_forget(struct walks *walks)
{
	for (unsigned i = 0; i < WALKS_FOLDERS; i++)
		walks_folder_free(walks, &walks->folders[i]);
	walks->walker = 0;
}

static bool walks_fits(const struct walks *walks, size_t length)
{
	return walks->count < WALKS_NAMES && walks->length + length <= WALKS_LENGTHS;
}

/* Frees the names of the directories that have been read to their end. */
static void walks_make_room(struct walks *walks)
{
	for (unsigned i = 0; i < WALKS_FOLDERS; i++)
		if (walks->folders[i].ahead == walks->folders[i].count)
			walks_names_free(walks, &walks->folders[i]);
}

static int walks_folder_add(struct walks *walks, struct walks_folder *folder, const char *name)
{
	size_t length = strlen(name) + 1;
	struct error ignored = { 0 };
	int r;

	if (!walks_fits(walks, length))
		walks_make_room(walks);
	if (!walks_fits(walks, length))
		return -E2BIG;
	r = grow(folder->names, folder->room, folder->count + 1, &ignored);
	if (r < 0)
		return r;
	folder->names[folder->count] = strdup(name);
	if (!folder->names[folder->count])
		return -ENOMEM;
	folder->count++;
	folder->length += length;
	walks->count++;
	walks->length += length;
	if (folder->count > 1 && strcmp(folder->names[folder->count - 2], name) >= 0)
		return -EINVAL; /* our images are sorted */
	return 0;
}

/* Lists the directory once. One that cannot be listed, or does not fit, has no names. */
static void walks_folder_list(struct walks *walks, struct walks_folder *folder, int fd)
{
	int copy = folder->is_listed ? -1 : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	size_t entries = 0;
	int r = 0;

	folder->is_listed = true;
	if (!list) {
		close_fd(&copy);
		return;
	}
	while (r == 0 && (entry = readdir(list))) {
		if (entry->d_type == DT_REG)
			r = walks_folder_add(walks, folder, entry->d_name);
		if (++entries > WALKS_NAMES)
			r = -E2BIG;
	}
	closedir(list);
	if (r < 0)
		walks_names_free(walks, folder);
}

static int walks_compare(const void *name, const void *entry)
{
	return strcmp(name, *(char *const *)entry);
}

static bool walks_folder_find(const struct walks_folder *folder, const char *name, size_t *ret)
{
	char **found = folder->count ? bsearch(name, folder->names, folder->count, sizeof(*folder->names),
					       walks_compare) : NULL;

	if (found)
		*ret = (size_t)(found - folder->names);
	return found;
}

/* ---- reading ahead ---- */

static void walks_read(int folder, const char *name)
{
	auto_close int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		(void)posix_fadvise(fd, 0, WALKS_BYTES, POSIX_FADV_WILLNEED);
}

/* Reads the files from number `from` on, in batches of at least half of what may be ahead. */
static void walks_read_ahead(struct walks_folder *folder, int fd, size_t from)
{
	if (folder->ahead < from || folder->ahead > from + WALKS_FILES)
		folder->ahead = from;
	if (folder->ahead > from + WALKS_FILES / 2)
		return;
	for (; folder->ahead < folder->count && folder->ahead < from + WALKS_FILES; folder->ahead++)
		walks_read(fd, folder->names[folder->ahead]);
}

/* Whether the process has opened so many files of the directory in their order that it may walk. */
static bool walks_folder_step(struct walks_folder *folder, pid_t pid, const char *name)
{
	folder->steps = pid == folder->pid && strcmp(name, folder->last) > 0 ? folder->steps + 1 : 1;
	folder->pid = pid;
	snprintf(folder->last, sizeof(folder->last), "%s", name);
	return folder->steps >= WALKS_STEPS;
}

/* Whether it does, as few names lie between its files. */
static bool walks_folder_go(struct walks_folder *folder, const char *name)
{
	size_t number;

	if (!walks_folder_find(folder, name, &number))
		return false;
	if (folder->is_walked && number - folder->at - 1 >= WALKS_SKIP) /* also if it is not after it */
		return false;
	folder->at = number;
	return true;
}

static void walks_file_opened(struct walks *walks, struct walks_folder *folder, int fd, pid_t pid, const char *name)
{
	if (pid == folder->pid && !strcmp(name, folder->last))
		return;
	if (walks_folder_step(folder, pid, name)) {
		walks_folder_list(walks, folder, fd);
		folder->is_walked = walks_folder_go(folder, name);
	} else {
		folder->is_walked = false;
	}
	if (!folder->is_walked)
		return;
	walks->walker = pid;
	walks->unused = 0;
	folder->used = clock_now();
	walks_read_ahead(folder, fd, folder->at + 1);
}

/* A process that has walked a directory will walk this one, too, unless it only lists the last ones. */
static void walks_folder_opened(struct walks *walks, struct walks_folder *folder, int fd, pid_t pid)
{
	if (pid != walks->walker || folder->is_walked || walks->unused >= WALKS_UNUSED)
		return;
	folder->pid = pid;
	folder->steps = WALKS_STEPS;
	folder->last[0] = 0;
	folder->is_walked = true;
	folder->at = SIZE_MAX;
	walks_folder_list(walks, folder, fd);
	walks->unused += folder->count > 0;
	walks_read_ahead(folder, fd, 0);
}

/* ---- what the kernel tells ---- */

static struct walks_folder *walks_find(struct walks *walks, const struct walks_handle *handle)
{
	for (unsigned i = 0; i < WALKS_FOLDERS; i++)
		if (walks->folders[i].handle.size == handle->size && walks->folders[i].handle.type == handle->type &&
		    !memcmp(walks->folders[i].handle.bytes, handle->bytes, handle->size))
			return &walks->folders[i];
	return NULL;
}

static int walks_open_handle(int root, const struct walks_handle *handle)
{
	uint8_t bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ] __attribute__((aligned(8)));
	struct file_handle *open_handle = (struct file_handle *)(void *)bytes;

	open_handle->handle_bytes = handle->size;
	open_handle->handle_type = handle->type;
	memcpy(open_handle->f_handle, handle->bytes, handle->size);
	return open_by_handle_at(root, open_handle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

#define WALKS_OF_FILES (FAN_OPEN | FAN_EVENT_ON_CHILD)

/* Takes the place of the directory that was of use longest ago. */
static struct walks_folder *walks_make(struct walks *walks, int root, int fd, const struct walks_handle *handle)
{
	struct walks_folder *folder = walks->folders;
	auto_close int before = -1;

	for (unsigned i = 1; i < WALKS_FOLDERS; i++)
		if (walks->folders[i].used < folder->used)
			folder = &walks->folders[i];
	if (folder->handle.size)
		before = walks_open_handle(root, &folder->handle);
	if (before >= 0)
		(void)fanotify_mark(walks->files, FAN_MARK_REMOVE, WALKS_OF_FILES, before, NULL);
	walks_folder_free(walks, folder);
	if (fanotify_mark(walks->files, FAN_MARK_ADD, WALKS_OF_FILES, fd, NULL) < 0)
		return NULL;
	folder->handle = *handle;
	return folder;
}

/* name: NULL, or of a file in the directory that was opened. */
static void walks_event(struct walks *walks, int root, const struct walks_handle *handle, pid_t pid, const char *name)
{
	struct walks_folder *folder = walks_find(walks, handle);
	auto_close int fd = folder || !name ? walks_open_handle(root, handle) : -1;

	if (fd < 0)
		return;
	if (!folder)
		folder = walks_make(walks, root, fd, handle);
	if (!folder)
		return;
	if (name) {
		walks_file_opened(walks, folder, fd, pid, name);
		return;
	}
	folder->used = clock_now();
	walks_folder_opened(walks, folder, fd, pid);
}

/* Takes the handle out of an event, and the name behind it, if there is one; false: it has none. */
static bool walks_parse(const struct fanotify_event_metadata *event, struct walks_handle *ret, const char **ret_name)
{
	const struct fanotify_event_info_fid *info = (const void *)(event + 1);
	const struct file_handle *handle = (const void *)info->handle;

	if (event->event_len < sizeof(*event) + sizeof(*info) + sizeof(*handle) || handle->handle_bytes > MAX_HANDLE_SZ)
		return false;
	*ret = (struct walks_handle){ .type = handle->handle_type, .size = handle->handle_bytes };
	memcpy(ret->bytes, handle->f_handle, handle->handle_bytes);
	*ret_name = info->hdr.info_type == FAN_EVENT_INFO_TYPE_DFID_NAME ?
			    (const char *)handle->f_handle + handle->handle_bytes : NULL;
	return true;
}

/* Leaves out what it has not come to at `end`, so that the process looks for a version in time. */
static void walks_take(struct walks *walks, int root, int group, int64_t end)
{
	uint8_t bytes[WALKS_EVENTS] __attribute__((aligned(8)));
	const struct fanotify_event_metadata *event = (const void *)bytes;
	ssize_t n = read(group, bytes, sizeof(bytes));
	struct walks_handle handle;
	const char *name;

	for (; n > 0 && FAN_EVENT_OK(event, n) && clock_now() < end; event = FAN_EVENT_NEXT(event, n))
		if (event->pid > 0 && event->pid != getpid() && walks_parse(event, &handle, &name))
			walks_event(walks, root, &handle, event->pid, name);
}

/* Opens a copy of the mount that is mounted nowhere: the mount itself must not be busy, even for a moment. */
static int walks_open_root(const struct walks *walks)
{
	auto_close int tree = open_tree(AT_FDCWD, walks->mountpoint, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	uint64_t id;

	if (tree < 0 || mount_record_id(AT_FDCWD, walks->mountpoint, &id, NULL) < 0 || id != walks->id)
		return -1;
	return openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void walks_take_all(struct walks *walks, int64_t end)
{
	auto_close int root = walks_open_root(walks);

	walks_take(walks, root, walks->opened, end);
	walks_take(walks, root, walks->files, end);
}

static bool walks_has_folders(const struct walks *walks)
{
	for (unsigned i = 0; i < WALKS_FOLDERS; i++)
		if (walks->folders[i].handle.size)
			return true;
	return false;
}

/* The time until when a directory is of use: a walk that is not at its end may be in one file for long. */
static int64_t walks_folder_until(const struct walks_folder *folder)
{
	bool is_in_file = folder->is_walked && folder->at != SIZE_MAX && folder->at + 1 < folder->count;

	return folder->used + (is_in_file ? WALKS_PAUSE : WALKS_LIVE);
}

/* Forgets the directories when nothing walks any more, so that opens of their files cost nothing. */
static void walks_expire(struct walks *walks)
{
	int64_t now = clock_now();

	for (unsigned i = 0; i < WALKS_FOLDERS; i++)
		if (walks->folders[i].handle.size && now < walks_folder_until(&walks->folders[i]))
			return;
	(void)fanotify_mark(walks->files, FAN_MARK_FLUSH, 0, AT_FDCWD, "/");
	walks_forget(walks);
}

void walks_wait(struct walks *walks, int64_t ns)
{
	struct pollfd groups[] = { { walks ? walks->opened : -1, POLLIN, 0 },
				   { walks ? walks->files : -1, POLLIN, 0 } };
	int64_t end = clock_now() + ns, left;
	bool is_live;

	while ((left = end - clock_now()) > 0) {
		is_live = walks && walks_has_folders(walks);
		if (is_live && left > WALKS_LIVE)
			left = WALKS_LIVE;
		if (poll(groups, 2, (int)(left / 1000000) + 1) > 0)
			walks_take_all(walks, end);
		if (is_live)
			walks_expire(walks);
	}
}

/* ---- the mount ---- */

static void walks_stop(struct walks *walks)
{
	close_fd(&walks->opened);
	close_fd(&walks->files);
	walks_forget(walks);
	walks->id = 0;
}

void walks_close(struct walks *walks)
{
	if (walks)
		walks_stop(walks);
	free(walks);
}

/* Asks for opens of directories alone: those of files are ignored before they cost anything. */
static int walks_mark(int group, const char *mountpoint)
{
	const unsigned ignored = FAN_MARK_ADD | FAN_MARK_FILESYSTEM | FAN_MARK_IGNORE | FAN_MARK_IGNORED_SURV_MODIFY;

	if (fanotify_mark(group, ignored, FAN_OPEN, AT_FDCWD, mountpoint) < 0)
		return -1;
	return fanotify_mark(group, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN | FAN_ONDIR, AT_FDCWD, mountpoint);
}

static int walks_start(struct walks *walks, struct error *err)
{
	const unsigned flags = FAN_CLASS_NOTIF | FAN_NONBLOCK | FAN_CLOEXEC;

	walks->opened = fanotify_init(flags | FAN_REPORT_FID, O_RDONLY);
	walks->files = fanotify_init(flags | FAN_REPORT_DFID_NAME | FAN_UNLIMITED_MARKS, O_RDONLY);
	if (walks->opened < 0 || walks->files < 0 || walks_mark(walks->opened, walks->mountpoint) < 0)
		return error_errno(err, "fanotify");
	return 0;
}

void walks_watch(struct walks *walks, uint64_t id)
{
	static bool is_said;
	struct error why = { 0 };

	if (!walks || walks->id == id)
		return;
	walks_stop(walks);
	if (walks_start(walks, &why) < 0) {
		walks_stop(walks);
		if (!is_said)
			log_warn("nothing is read ahead for programs that walk '%s': %s, ignoring", walks->mountpoint,
				 why.reason);
		is_said = true;
	}
	walks->id = id;
}
