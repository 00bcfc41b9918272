/* SPDX-License-Identifier: MIT */
/* Reads attributes in sysfs(5). */
#include "device/nvme/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

bool sysfs_text(const char *directory, const char *name, char *text, size_t size)
{
	char path[PATH_MAX], *start;
	auto_close int fd = -1;
	ssize_t n;

	text[0] = 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	start = text + strspn(text, " \t");
	memmove(text, start, strlen(start) + 1);
	for (size_t end = strlen(text); end && (text[end - 1] == ' ' || text[end - 1] == '\t'); end--)
		text[end - 1] = 0;
	return text[0] != 0;
}

bool sysfs_number(const char *directory, const char *name, int64_t *ret)
{
	char text[32], *end;
	long long n;

	if (!sysfs_text(directory, name, text, sizeof(text)))
		return false;
	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || *end)
		return false;
	*ret = n;
	return true;
}

dev_t sysfs_device(const char *directory)
{
	unsigned major_number, minor_number;
	char text[32];

	if (!sysfs_text(directory, "dev", text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &major_number, &minor_number) != 2)
		return 0;
	return makedev(major_number, minor_number);
}

bool sysfs_block_name(dev_t device, char ret[SYSFS_NAME_SIZE])
{
	char link[64], target[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(device), minor(device));
	n = readlink(link, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = 0;
	name = strrchr(target, '/');
	return name && (size_t)snprintf(ret, SYSFS_NAME_SIZE, "%s", name + 1) < SYSFS_NAME_SIZE;
}

static int sysfs_is_entry(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int sysfs_each(const char *directory, sysfs_visit visit, void *argument, struct error *err)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count = scandir(directory, &entries, sysfs_is_entry, versionsort), r = 0;

	if (count < 0) /* it may be gone meanwhile */
		return errno == ENOMEM ? error_no_memory(err) : 0;
	for (int i = 0; i < count; i++) {
		if (r == 0 &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name) < sizeof(path))
			r = visit(argument, path, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	return r;
}
