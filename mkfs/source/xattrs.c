/* SPDX-License-Identifier: MIT */
/* Reads and encodes sets of xattrs. */
#include "source/xattrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "datasetfs/control.h"
#include "datasetfs/format.h"
#include "image/meta.h"
#include "image/xattr.h"

#define XATTRS_NAMES_MAX 65536u /* most bytes that listxattr(2) returns */

struct xattrs_names {
	const char **list;
	uint32_t count;
};

static int xattrs_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int xattrs_add_pattern(struct filter **filter, const char *pattern, struct error *err)
{
	auto_free char *whole = malloc(2 * strlen(pattern) + 2);
	char *to = whole;

	if (!*filter)
		*filter = filter_new();
	if (!whole || !*filter)
		return error_no_memory(err);
	if (!*pattern)
		return error_set(err, -EINVAL, "'' is not a pattern");
	*to++ = '/'; /* for the whole name */
	for (; *pattern; pattern++) {
		*to++ = *pattern;
		if (*pattern == '*')
			*to++ = '*';
	}
	*to = 0;
	return filter_add(*filter, false, whole, err);
}

void xattrs_wanted_close(struct xattrs_wanted *wanted)
{
	filter_free(wanted->include);
	filter_free(wanted->exclude);
	*wanted = (struct xattrs_wanted){ 0 };
}

bool xattrs_wants_all(const struct xattrs_wanted *wanted)
{
	return !wanted->none && filter_is_empty(wanted->include) && filter_is_empty(wanted->exclude);
}

static bool xattrs_is_ours(const char *name)
{
	return !strncmp(name, META_PREFIX, strlen(META_PREFIX)) || !strcmp(name, DSFS_VERSION_ATTRIBUTE);
}

bool xattrs_wants(const struct xattrs_wanted *wanted, const char *name)
{
	if (wanted->none || xattrs_is_ours(name) ||
	    (!filter_is_empty(wanted->include) && filter_match(wanted->include, name, false)))
		return false;
	return filter_match(wanted->exclude, name, false);
}

/* Makes a sorted array of pointers to the user.* names in the list that are wanted. */
static int xattrs_sort(char *list, size_t length, const struct xattrs_wanted *wanted, struct xattrs_names *ret,
		       struct error *err)
{
	struct xattrs_names names = { .list = malloc((length + 1) * sizeof(*names.list)) };

	if (!names.list)
		return error_no_memory(err);
	for (char *name = list; name < list + length; name += strlen(name) + 1)
		if (!strncmp(name, XATTR_PREFIX, strlen(XATTR_PREFIX)) && xattrs_wants(wanted, name))
			names.list[names.count++] = name;
	qsort(names.list, names.count, sizeof(*names.list), xattrs_compare);
	*ret = names;
	return 0;
}

static int xattrs_encode_one(int fd, const char *path, const char *name, struct xattr_set *set, struct error *err)
{
	struct span key = span_text(name);
	size_t room = 0;
	uint8_t *value = xattr_set_value(set, key.size, &room);
	ssize_t length = -1;

	if (room)
		length = path ? lgetxattr(path, name, value, room) : fgetxattr(fd, name, value, room);
	if (room && length < 0 && errno != ERANGE)
		return error_errno(err, "cannot read attribute '%s'", name);
	if (length < 0 || !xattr_set_add(set, key, span_of(value, (uint64_t)length)))
		return error_set(err, -E2BIG, "its user attributes take more than %u bytes" XATTRS_HINT,
				 DSFS_XATTRS_MAX);
	return 0;
}

static int xattrs_encode(int fd, const char *path, const struct xattrs_names *names, uint8_t **ret_set,
			 uint32_t *ret_length, struct error *err)
{
	auto_free uint8_t *bytes = malloc(DSFS_XATTRS_MAX);
	struct xattr_set set = xattr_set_begin(bytes);
	int r;

	if (!bytes)
		return error_no_memory(err);
	for (uint32_t i = 0; i < names->count; i++) {
		r = xattrs_encode_one(fd, path, names->list[i], &set, err);
		if (r < 0)
			return r;
	}
	*ret_length = xattr_set_end(&set);
	*ret_set = realloc(bytes, *ret_length); /* shrinks */
	if (*ret_set)
		(void)take_ptr(&bytes);
	return *ret_set ? 0 : error_no_memory(err);
}

int xattrs_read(int fd, const char *path, const struct xattrs_wanted *wanted, uint8_t **ret_set,
		uint32_t *ret_length, struct error *err)
{
	auto_free char *list = NULL;
	struct xattrs_names names = { 0 };
	ssize_t length;
	int r;

	*ret_set = NULL;
	*ret_length = 0;
	if (wanted->none)
		return 0;
	length = path ? llistxattr(path, NULL, 0) : flistxattr(fd, NULL, 0);
	if (length == 0 || (length < 0 && errno == ENOTSUP))
		return 0;
	list = malloc(XATTRS_NAMES_MAX);
	if (!list)
		return error_no_memory(err);
	length = path ? llistxattr(path, list, XATTRS_NAMES_MAX) :
			flistxattr(fd, list, XATTRS_NAMES_MAX);
	if (length < 0)
		return error_errno(err, "cannot list its attributes");
	r = xattrs_sort(list, (size_t)length, wanted, &names, err);
	if (r == 0 && names.count)
		r = xattrs_encode(fd, path, &names, ret_set, ret_length, err);
	free(names.list);
	return r;
}
