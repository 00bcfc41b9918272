/* SPDX-License-Identifier: MIT */
/* Goes through a path one component at a time, and follows links itself. */
#include "lib/beneath_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"

#define STEPS_LINKS 40u /* MAXSYMLINKS of the kernel */

struct beneath_steps {
	int root;
	dev_t device;
	int at;         /* the directory reached, O_PATH; -1: the root */
	unsigned depth; /* of at, below the root */
	unsigned links;
	char *path; /* the remaining path, with the target of a link in place of its name */
	char *rest; /* points into path: the part not walked yet */
	bool is_over; /* at is not a directory */
};

static int beneath_steps_at(const struct beneath_steps *steps)
{
	return steps->at < 0 ? steps->root : steps->at;
}

static void beneath_steps_move(struct beneath_steps *steps, int *fd)
{
	close_fd(&steps->at);
	steps->at = take_fd(fd);
}

static int beneath_steps_up(struct beneath_steps *steps)
{
	auto_close int fd = -1;

	if (steps->depth == 0)
		return -EXDEV;
	fd = openat(beneath_steps_at(steps), "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	steps->depth--;
	beneath_steps_move(steps, &fd);
	return 0;
}

static int beneath_steps_follow(struct beneath_steps *steps, int link)
{
	char target[PATH_MAX], *path;
	ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);

	if (length < 0)
		return -errno;
	if (steps->links++ == STEPS_LINKS)
		return -ELOOP;
	target[length] = 0;
	if (target[0] == '/')
		return -EXDEV;
	if (asprintf(&path, "%s%s", target, steps->rest) < 0)
		return -ENOMEM;
	free(steps->path);
	steps->path = steps->rest = path;
	return 0;
}

/* Steps into a component, or follows it as a link. The rest of the path begins with a slash, or is empty. */
static int beneath_steps_down(struct beneath_steps *steps, const char *name, int flags, bool follow)
{
	auto_close int fd = openat(beneath_steps_at(steps), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != steps->device)
		return -EXDEV;
	if (S_ISLNK(st.st_mode) && (*steps->rest || !(flags & O_NOFOLLOW)))
		return follow ? beneath_steps_follow(steps, fd) : -ELOOP;
	if (!S_ISDIR(st.st_mode) && (*steps->rest || flags & O_DIRECTORY))
		return -ENOTDIR;
	steps->is_over = !S_ISDIR(st.st_mode);
	steps->depth++;
	beneath_steps_move(steps, &fd);
	return 0;
}

static int beneath_steps_component(struct beneath_steps *steps, int flags, bool follow)
{
	char name[NAME_MAX + 1];
	size_t length;

	steps->rest += strspn(steps->rest, "/");
	length = strcspn(steps->rest, "/");
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, steps->rest, length);
	name[length] = 0;
	steps->rest += length;
	if (!strcmp(name, "") || !strcmp(name, "."))
		return 0;
	return !strcmp(name, "..") ? beneath_steps_up(steps) : beneath_steps_down(steps, name, flags, follow);
}

/* Opens the result with the caller's flags; until here it is only an O_PATH descriptor, which can do nothing. */
static int beneath_steps_finish(struct beneath_steps *steps, int flags)
{
	int fd;

	if (flags & O_PATH && steps->at >= 0)
		return take_fd(&steps->at);
	if (!steps->is_over) {
		fd = openat(beneath_steps_at(steps), ".", flags | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = fdname_reopen(steps->at, flags & ~O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int beneath_steps_open(int root, const char *path, int flags, bool follow)
{
	struct beneath_steps steps = { .root = root, .at = -1, .path = strdup(path) };
	struct stat st;
	int r = path[0] == '/' ? -EXDEV : fstat(root, &st) < 0 ? -errno : 0;

	if (r == 0 && !steps.path)
		r = -ENOMEM;
	steps.device = r == 0 ? st.st_dev : 0;
	steps.rest = steps.path;
	while (r == 0 && *steps.rest)
		r = beneath_steps_component(&steps, flags, follow);
	if (r == 0)
		r = beneath_steps_finish(&steps, flags);
	free(steps.path);
	close_fd(&steps.at);
	return r;
}
