/* SPDX-License-Identifier: MIT */
/* Reads the locks of all descriptors from /proc/PID/fdinfo, proc_pid_fdinfo(5), which waits for no filesystem. */
#include "device/locker.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LOCKER_TEXT 4096u /* bytes of a file of /proc/PID/fdinfo */

/* Looks for a line such as "lock:\t1: FLOCK ADVISORY WRITE 1234 fe:00:131 0 EOF". */
static bool locker_has(int folder, const char *name, ino_t inode)
{
	char text[LOCKER_TEXT], number[32], *line, *save = NULL;
	auto_close int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	snprintf(number, sizeof(number), ":%ju ", (uintmax_t)inode);
	text[length > 0 ? length : 0] = 0;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, "lock:", 5) && strstr(line, " FLOCK ") && strstr(line, number))
			return true;
	return false;
}

/* Compares the devices too, because another filesystem may have the same inode number. */
static bool locker_is_same(const char *process, const char *name, const struct statx *wanted)
{
	char path[64];
	struct statx stx;

	snprintf(path, sizeof(path), "/proc/%.10s/fd/%.10s", process, name);
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &stx) == 0 && stx.stx_ino == wanted->stx_ino &&
	       stx.stx_dev_major == wanted->stx_dev_major && stx.stx_dev_minor == wanted->stx_dev_minor;
}

static bool locker_see_process(const char *process, const struct statx *wanted)
{
	struct dirent *entry;
	bool found = false;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%.10s/fdinfo", process);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder)))
		found = isdigit((unsigned char)entry->d_name[0]) &&
			locker_has(dirfd(folder), entry->d_name, wanted->stx_ino) &&
			locker_is_same(process, entry->d_name, wanted);
	if (folder)
		closedir(folder);
	return found;
}

static void locker_describe(const char *process, char text[LOCKER_TEXT_SIZE])
{
	char path[64], name[32] = "";
	auto_close int fd = -1;
	struct stat st = { 0 };
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%.10s/comm", process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? 0 : read(fd, name, sizeof(name) - 1);
	name[length > 0 ? length : 0] = 0;
	name[strcspn(name, "\n")] = 0;
	for (char *c = name; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '\'')
			*c = '?';
	snprintf(path, sizeof(path), "/proc/%.10s", process);
	(void)!stat(path, &st);
	snprintf(text, LOCKER_TEXT_SIZE, "process %.10s ('%s' of user %u)", process, name, (unsigned)st.st_uid);
}

bool locker_find(int fd, char text[LOCKER_TEXT_SIZE])
{
	DIR *all = opendir("/proc");
	struct dirent *entry;
	struct statx wanted;
	bool found = false;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &wanted) == 0)
		while (all && !found && (entry = readdir(all))) {
			found = isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid() &&
				locker_see_process(entry->d_name, &wanted);
			if (found)
				locker_describe(entry->d_name, text);
		}
	if (all)
		closedir(all);
	return found;
}
