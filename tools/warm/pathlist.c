/* SPDX-License-Identifier: MIT */
/* Asks the mount for the number of each path. A link at the end of a path is not followed. */
#include "warm/pathlist.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/program/interrupt.h"
#include "base/text/line.h"
#include "datasetfs/control.h"

#define PATHLIST_BLOCK 65536u
#define PATHLIST_ROOT  1u /* number of the root of a mount */

void pathlist_free(struct pathlist *list)
{
	free(list->numbers);
	*list = (struct pathlist){ 0 };
}

/* ---- a path ---- */

static int pathlist_stat(int root, const char *path, struct stat *ret, struct error *err)
{
	struct stat top;

	path += strspn(path, "/");
	if (fstat(root, &top) < 0 || fstatat(root, path, ret, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return error_errno(err, "'%s'", path);
	if (ret->st_dev != top.st_dev)
		return error_set(err, -EXDEV, "'%s' leads out of the mount", path);
	if (ret->st_ino != PATHLIST_ROOT && ret->st_ino >> DSFS_PREFETCH_ORDINAL_BITS == 0)
		return error_set(err, -EINVAL, "'%s' is a control file of the mount and not on the volume", path);
	if (S_ISLNK(ret->st_mode))
		return error_set(err, -EINVAL, "'%s' is a symbolic link: name its target", path);
	return 0;
}

int pathlist_add(struct pathlist *list, int root, const char *path, struct error *err)
{
	struct stat st;
	int r = pathlist_stat(root, path, &st, err);

	if (r == 0)
		r = grow(list->numbers, list->room, list->count + 1, err);
	if (r == 0)
		list->numbers[list->count++] = st.st_ino;
	return r;
}

/* ---- a file with paths ---- */

/* The text of a list, with a NUL behind it. */
struct pathlist_text {
	char *bytes;
	size_t length, room;
};

/* A signal ends the wait, as what writes the list may take long. */
static ssize_t pathlist_more(int fd, struct pathlist_text *text, struct error *err)
{
	int r = grow(text->bytes, text->room, text->length + PATHLIST_BLOCK + 1, err);

	return r < 0 ? r : interrupt_read(fd, text->bytes + text->length, PATHLIST_BLOCK, err);
}

static int pathlist_load(const char *file, struct pathlist_text *text, struct error *err)
{
	auto_close int own = -1;
	ssize_t n = 0;

	if (strcmp(file, "-") != 0)
		own = open(file, O_RDONLY | O_CLOEXEC);
	if (strcmp(file, "-") != 0 && own < 0)
		return error_errno(err, "open");
	while ((n = pathlist_more(own < 0 ? STDIN_FILENO : own, text, err)) > 0)
		text->length += (size_t)n;
	if (n < 0)
		return (int)n;
	text->bytes[text->length] = 0;
	return text->length ? 0 : error_set(err, -EINVAL, "it is empty");
}

static int pathlist_add_all(struct pathlist *list, int root, struct pathlist_text *text, struct error *err)
{
	char separator = memchr(text->bytes, 0, text->length) ? 0 : '\n', *end;
	int r = 0;

	for (char *path = text->bytes; r == 0 && path < text->bytes + text->length; path = end + 1) {
		end = strchr(path, separator);
		if (!end) /* the last line has no end of its own */
			end = path + strlen(path);
		*end = 0;
		if (separator)
			line_cut(path);
		if (*path)
			r = pathlist_add(list, root, path, err);
		if (r == 0)
			r = interrupt_check(err);
	}
	return r == 0 && !list->count ? error_set(err, -EINVAL, "it names nothing") : r;
}

int pathlist_read(struct pathlist *list, int root, const char *file, struct error *err)
{
	struct pathlist_text text = { 0 };
	int r = pathlist_load(file, &text, err);

	if (r == 0)
		r = pathlist_add_all(list, root, &text, err);
	free(text.bytes);
	return r < 0 ? error_wrap(err, r, "list '%s'", file) : 0;
}
