/* SPDX-License-Identifier: MIT */
/* Sorts the list by depth and then component by component, in the order of a breadth-first scan: the entries of a
 * directory are together, and directories come in the order of the scan. */
#include "source/from_list.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program/interrupt.h"
#include "base/text/line.h"
#include "source/clean.h"

#define FROM_LIST_BUDGET (16u << 20)
#define FROM_LIST_PATH   (1u << 20) /* most bytes of a path */

struct from_list {
	struct sorter *sorter;
	char *path; /* the next path, '/' between components; NULL at the end */
	char *last; /* the path that was added last */
	size_t room;
};

/* Adds the first length bytes of path. The sort key is the depth, then the path with NUL for '/', so that a name sorts
 * before longer names that it begins. */
static int from_list_add_prefix(struct from_list *list, const char *path, size_t length, uint32_t depth,
				struct error *err)
{
	auto_free char *key = malloc(length);
	uint32_t head = htobe32(depth);

	if (!key)
		return error_no_memory(err);
	for (size_t i = 0; i < length; i++)
		key[i] = path[i] == '/' ? 0 : path[i];
	return sorter_add(list->sorter, &head, sizeof(head), key, length, err);
}

static int from_list_clean(const char *path, char *out, struct error *err)
{
	int r;

	if (*path == '/')
		return error_set(err, -EINVAL, "'%s' in the list is not relative to the source", path);
	r = clean_path(path, 0, "the list", out, err);
	return r < 0 ? r : 0;
}

/* Returns the length of the common beginning of both paths. */
static size_t from_list_common(const char *a, const char *b)
{
	size_t length = 0;

	while (a[length] && a[length] == b[length])
		length++;
	return length;
}

/* Adds the path, and its parents unless the path before it added them: lists mostly follow the tree. */
static int from_list_add(struct from_list *list, const char *path, struct error *err)
{
	size_t length = strlen(path), common;
	auto_free char *clean = malloc(length + 1);
	uint32_t depth = 0;
	int r;

	if (!clean)
		return error_no_memory(err);
	if (length > FROM_LIST_PATH)
		return error_set(err, -ENAMETOOLONG, "a path of %zu bytes in the list, expected at most %u", length,
				 FROM_LIST_PATH);
	r = from_list_clean(path, clean, err);
	if (r < 0 || !*clean)
		return r;
	length = strlen(clean);
	common = list->last ? from_list_common(clean, list->last) : 0;
	for (size_t i = 1; r == 0 && i <= length; i++) {
		if (clean[i] != '/' && clean[i])
			continue;
		depth++;
		if (i >= common)
			r = from_list_add_prefix(list, clean, i, depth, err);
	}
	free(list->last);
	list->last = take_ptr(&clean);
	return r;
}

/* Copies the list, because standard input can be read only once, and looks for a NUL on the way. A signal ends that, as
 * the list's writer may take long. */
static int from_list_copy(int from, const char *path, FILE *copy, char *ret_separator, struct error *err)
{
	char block[16384];
	ssize_t length;

	*ret_separator = '\n';
	while ((length = interrupt_read(from, block, sizeof(block), err)) > 0) {
		if (memchr(block, 0, (size_t)length))
			*ret_separator = 0;
		if (fwrite(block, 1, (size_t)length, copy) != (size_t)length)
			return error_errno(err, "cannot write a temporary file");
	}
	if (length < 0)
		return length == -EINTR ? (int)length : error_wrap(err, (int)length, "cannot read '%s'", path);
	return fflush(copy) ? error_errno(err, "cannot write a temporary file") : 0;
}

static int from_list_parse(struct from_list *list, FILE *copy, char separator, struct error *err)
{
	auto_free char *line = NULL;
	size_t room = 0;
	int r;

	rewind(copy);
	while (getdelim(&line, &room, separator, copy) > 0) {
		if (separator)
			line_cut(line);
		r = from_list_add(list, line, err);
		if (r == 0)
			r = interrupt_check(err);
		if (r < 0)
			return r;
	}
	return ferror(copy) ? error_errno(err, "cannot read a temporary file") : 0;
}

static int from_list_fill(struct from_list *list, const struct temp *temp, int from, const char *path,
			  struct error *err)
{
	auto_fclose FILE *copy = NULL;
	char separator;
	int fd;
	int r;

	r = temp_file(temp, &fd, err);
	if (r < 0)
		return r;
	copy = fdopen(fd, "w+");
	if (!copy) {
		close(fd);
		return error_no_memory(err);
	}
	r = from_list_copy(from, path, copy, &separator, err);
	if (r == 0 && ftell(copy) == 0) /* the program that should have written it failed */
		r = error_set(err, -EINVAL, "the list '%s' is empty", path);
	return r < 0 ? r : from_list_parse(list, copy, separator, err);
}

/* Sets list->path to the next path that differs from the one before. */
static int from_list_advance(struct from_list *list, struct error *err)
{
	const char *record;
	const void *bytes;
	size_t length;
	bool same;
	int r;

	do {
		r = sorter_next(list->sorter, &bytes, &length, err);
		if (r <= 0) {
			free(list->path);
			list->path = NULL;
			return r;
		}
		record = (const char *)bytes + sizeof(uint32_t);
		length -= sizeof(uint32_t);
		same = list->path && strlen(list->path) == length;
		for (size_t i = 0; same && i < length; i++)
			same = list->path[i] == (record[i] ? record[i] : '/');
	} while (same);
	free(list->path);
	list->path = malloc(length + 1);
	if (!list->path)
		return error_no_memory(err);
	for (size_t i = 0; i < length; i++)
		list->path[i] = record[i] ? record[i] : '/';
	list->path[length] = 0;
	return 0;
}

/* Opens the list without waiting for the writer of a pipe, because signals are handled only while reading. */
static int from_list_open_file(const char *path)
{
	if (!strcmp(path, "-"))
		return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

int from_list_open(const struct temp *temp, const char *path, struct from_list **ret, struct error *err)
{
	auto_close int from = from_list_open_file(path);
	struct from_list *list;
	int r;

	if (from < 0)
		return error_errno(err, "cannot open '%s'", path);
	list = calloc(1, sizeof(*list));
	if (!list)
		return error_no_memory(err);
	r = sorter_open(temp, FROM_LIST_BUDGET, &list->sorter, err);
	if (r == 0)
		r = from_list_fill(list, temp, from, path, err);
	if (r == 0)
		r = from_list_rewind(list, err);
	if (r < 0) {
		from_list_close(list);
		return r;
	}
	*ret = list;
	return 0;
}

int from_list_rewind(struct from_list *list, struct error *err)
{
	int r = sorter_rewind(list->sorter, err);

	free(take_ptr(&list->path));
	return r < 0 ? r : from_list_advance(list, err);
}

void from_list_close(struct from_list *list)
{
	if (!list)
		return;
	sorter_free(list->sorter);
	free(list->path);
	free(list->last);
	free(list);
}

static uint32_t from_list_depth(const char *directory)
{
	uint32_t depth = *directory != 0;

	for (; *directory; directory++)
		depth += *directory == '/';
	return depth;
}

/* Compares directories in the order of a breadth-first scan; the first one is the first length bytes of parent. */
static int from_list_compare(const char *parent, size_t length, const char *directory)
{
	auto_free char *copy = strndup(parent, length);
	const char *a = copy, *b = directory;

	if (!copy)
		return 0;
	if (from_list_depth(a) != from_list_depth(b))
		return from_list_depth(a) < from_list_depth(b) ? -1 : 1;
	for (; *a && *a == *b; a++, b++)
		;
	return (*a == '/' ? 1 : (unsigned char)*a) - (*b == '/' ? 1 : (unsigned char)*b);
}

/* Returns whether the next path lies in a directory that the scan has passed. */
static bool from_list_is_passed(const struct from_list *list, const char *directory)
{
	const char *slash = list->path ? strrchr(list->path, '/') : NULL;

	if (!list->path)
		return false;
	return from_list_compare(list->path, slash ? (size_t)(slash - list->path) : 0, directory) < 0;
}

static bool from_list_is_filtered(const struct from_list *list, const struct listing_context *context)
{
	bool filtered = false;

	for (char *slash = strchr(list->path, '/'); slash && !filtered; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		filtered = !filter_match(context->filter, list->path, true);
		*slash = '/';
	}
	return filtered;
}

/* Skips paths below directories that the filter left out; any other path that was passed is an error. */
static int from_list_skip(struct from_list *list, const struct listing_context *context, const char *directory,
			  struct error *err)
{
	int r;

	while (directory ? from_list_is_passed(list, directory) : list->path != NULL) {
		if (!from_list_is_filtered(list, context))
			return error_set(err, -ENOTDIR,
					 "'%s' in the list lies below something that is not a directory",
					 list->path);
		r = from_list_advance(list, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int from_list_fill_listing(struct from_list *list, const struct listing_context *context,
				  struct listing *listing, struct error *err)
{
	const char *name;
	int r;

	while ((name = listing_name_in(list->path, listing->dir->path, listing->dir->length))) {
		r = listing_add(context, listing, name, DT_UNKNOWN, err);
		if (r == -ENOENT)
			return error_set(err, r, "'%s' in the list does not exist", list->path);
		if (r == 0)
			r = from_list_advance(list, err);
		if (r < 0)
			return r;
	}
	return listing_rewind(listing, err);
}

int from_list_directory(void *argument, const struct listing_context *context, const char *path, struct listing *ret,
			struct error *err)
{
	struct from_list *list = argument;
	struct listing listing;
	int r;

	r = from_list_skip(list, context, path, err);
	if (r == 0)
		r = listing_open(context, path, &listing, err);
	if (r < 0)
		return r;
	r = from_list_fill_listing(list, context, &listing, err);
	if (r < 0) {
		listing_close(&listing);
		return r;
	}
	*ret = listing;
	return 0;
}

int from_list_end(void *argument, const struct listing_context *context, struct error *err)
{
	return from_list_skip(argument, context, NULL, err);
}
