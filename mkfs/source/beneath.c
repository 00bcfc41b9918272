/* SPDX-License-Identifier: MIT */
/* Opens first and looks at the place of what was opened, which no other process can exchange any more. O_PATH opens
 * neither FIFOs nor devices. */
#include "source/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define BENEATH_LINK_SIZE 32 /* of "/proc/self/fd/N" */

static void beneath_link(int fd, char out[BENEATH_LINK_SIZE])
{
	snprintf(out, BENEATH_LINK_SIZE, "/proc/self/fd/%d", fd);
}

/* Reads the path of an open file, "" if it is too long. */
static int beneath_place(int fd, char out[PATH_MAX], struct error *err)
{
	char link[BENEATH_LINK_SIZE];
	ssize_t length;

	beneath_link(fd, link);
	length = readlink(link, out, PATH_MAX);
	if (length < 0)
		return error_errno(err, "cannot read '%s'", link);
	out[length < PATH_MAX ? length : 0] = 0;
	return 0;
}

int beneath_open(const char *name, struct beneath *ret, struct error *err)
{
	struct beneath beneath = { .fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC), .name = name };
	char place[PATH_MAX];
	int r;

	if (beneath.fd < 0)
		return error_errno(err, "cannot open '%s'", name);
	r = beneath_place(beneath.fd, place, err);
	if (r == 0 && !*place)
		r = error_set(err, -ENAMETOOLONG, "the path of '%s' has more than %u bytes", name, PATH_MAX);
	if (r == 0)
		beneath.path = strdup(place);
	if (r == 0 && !beneath.path)
		r = error_no_memory(err);
	if (r < 0) {
		close_fd(&beneath.fd);
		return r;
	}
	*ret = beneath;
	return 0;
}

void beneath_close(struct beneath *beneath)
{
	if (!beneath->path)
		return;
	close_fd(&beneath->fd);
	free(take_ptr(&beneath->path));
}

static int beneath_check(const struct beneath *beneath, int fd, struct error *err)
{
	size_t length = strlen(beneath->path);
	char place[PATH_MAX];
	int r = beneath_place(fd, place, err);

	if (r < 0)
		return r;
	length -= beneath->path[length - 1] == '/'; /* the root */
	if (!strncmp(place, beneath->path, length) && (!place[length] || place[length] == '/'))
		return 0;
	return error_set(err, -EXDEV,
			 "it leads to '%s', which is not below '%s': use --exclude or another --dereference", place,
			 beneath->name);
}

int beneath_follow(const struct beneath *beneath, int at, const char *name, struct error *err)
{
	auto_close int fd = openat(at, name, O_PATH | O_CLOEXEC);
	int r;

	if (fd < 0 && errno == ENOENT)
		return error_set(err, -ENOENT, "it is a symlink to something that does not exist: use --exclude");
	if (fd < 0 && errno == ELOOP)
		return error_set(err, -ELOOP, "it is a symlink that leads back to itself: use --exclude");
	if (fd < 0)
		return error_errno(err, "cannot follow the symlink");
	r = beneath_check(beneath, fd, err);
	return r < 0 ? r : take_fd(&fd);
}

int beneath_follow_for(const struct beneath *beneath, int at, const char *name, int flags, struct error *err)
{
	auto_close int fd = beneath_follow(beneath, at, name, err);
	char link[BENEATH_LINK_SIZE];
	int opened;

	if (fd < 0)
		return fd;
	beneath_link(fd, link);
	opened = open(link, (flags & ~O_NOFOLLOW) | O_CLOEXEC);
	if (opened < 0 && errno == EPERM) /* O_NOATIME is for owners */
		opened = open(link, (flags & ~(O_NOFOLLOW | O_NOATIME)) | O_CLOEXEC);
	return opened < 0 ? error_errno(err, "cannot open what the symlink leads to") : opened;
}
