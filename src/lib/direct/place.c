/* SPDX-License-Identifier: MIT */
/* Goes from a file to its directory by the numbers of directories, and from there to the root by their records. */
#include "lib/direct/place.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "image/children.h"
#include "image/inode.h"
#include "lib/direct/context.h"
#include "lib/permission.h"

/* Gets the version's children, or makes them; two threads may do that at a time, and one result is kept. */
static int place_children(struct context *context, const struct children **ret, struct error *err)
{
	struct direct *direct = context->direct;
	struct children *children = atomic_load(&direct->children), *first = NULL;
	int r;

	if (!children) {
		r = children_open(direct->version.index, &children, err);
		if (r < 0)
			return r;
		if (children && !atomic_compare_exchange_strong(&direct->children, &first, children)) {
			children_free(children);
			children = first;
		}
	}
	*ret = children;
	return 0;
}

/* --- paths --- */

struct place {
	struct context *context;
	const struct children *children;
	char *buffer; /* filled from its end to its beginning */
	size_t at;
	uint64_t ordinal; /* of the inode whose name is looked for */
};

static int place_name(void *argument, const struct names_entry *entry)
{
	struct place *place = argument;

	if (entry->ordinal != place->ordinal)
		return 0;
	if (place->at <= entry->name_length)
		return -ERANGE;
	place->buffer[--place->at] = '/';
	place->at -= entry->name_length;
	memcpy(place->buffer + place->at, entry->name, entry->name_length);
	return 1;
}

/* Finds the directory that has the inode, and a lower bound of its entry's number: hard links may stand before it. */
static int place_parent(const struct place *place, uint64_t *ret_directory, uint64_t *ret_number, struct error *err)
{
	const struct index *index = place->context->direct->version.index;
	struct children_range range = { 0 };
	struct children_start start;
	struct inode inode;
	int r = inode_get(index, place->ordinal, &inode, err);

	if (r < 0)
		return r;
	if (S_ISDIR(inode.mode)) {
		r = children_range(place->children, index, inode.where, &range, err);
		start = (struct children_start){ inode.where, range.first };
	} else {
		r = children_find(place->children, index, place->ordinal, &start, err);
	}
	if (r < 0)
		return r;
	if (start.directory >= place->ordinal || start.first > place->ordinal)
		return error_set(err, -EBADMSG, "names: inode %" PRIu64 " in directory %" PRIu64, place->ordinal,
				 start.directory);
	*ret_directory = start.directory;
	*ret_number = place->ordinal - start.first;
	return 0;
}

static int place_climb(struct place *place, struct error *err)
{
	uint64_t directory = 0, number = 0, root = direct_root(place->context->direct);
	int r;

	for (; place->ordinal != root; place->ordinal = directory) {
		if (place->ordinal < root) /* directories have smaller numbers than their entries */
			return error_set(err, -ENOENT, "its first path is not in the folder that is mounted");
		r = place_parent(place, &directory, &number, err);
		if (r < 0)
			return r;
		r = names_list(place->context->direct->version.index->names, directory, number, place_name, place);
		if (r == -ERANGE)
			return error_set(err, r, "the path does not fit in the buffer");
		if (r <= 0)
			return error_set(err, -EBADMSG, "names: inode %" PRIu64 " is not in directory %" PRIu64,
					 place->ordinal, directory);
	}
	return 0;
}

/* Moves the path to the buffer's beginning, with a NUL for its last '/'. The path of the root is empty. */
static int place_take(struct place *place, size_t size)
{
	size_t length = size - place->at;

	if (length)
		length--;
	memmove(place->buffer, place->buffer + place->at, length);
	place->buffer[length] = 0;
	return (int)length;
}

int place_path(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err)
{
	struct direct *direct = (struct direct *)opened;
	struct place place = { .buffer = buffer, .ordinal = direct_ordinal(direct, id) };
	int r;

	place.at = size < INT_MAX ? size : INT_MAX;
	size = place.at;
	if (size == 0)
		return error_set(err, -ERANGE, "the path does not fit in the buffer");
	r = context_enter(direct, &place.context, err);
	if (r < 0)
		return r;
	r = place_children(place.context, &place.children, err);
	if (r == 0)
		r = place_climb(&place, err);
	context_leave(place.context);
	return r < 0 ? r : place_take(&place, size);
}

/* --- ranges --- */

static int place_check_directory(const struct index *index, uint64_t ordinal, struct error *err)
{
	struct permission permission = { 0 };
	struct inode inode;
	int r = inode_get(index, ordinal, &inode, err);

	if (r < 0)
		return r;
	if (!S_ISDIR(inode.mode))
		return error_set(err, -ENOTDIR, "inode %" PRIu64 " is not a directory", ordinal);
	r = permission_check(&permission, &inode, PERMISSION_READ, err);
	permission_end(&permission);
	return r;
}

int place_range(struct opened *opened, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count, struct error *err)
{
	struct direct *direct = (struct direct *)opened;
	uint64_t ordinal = direct_ordinal(direct, directory);
	const struct children *children;
	struct children_range range;
	struct context *context;
	int r = place_check_directory(direct->version.index, ordinal, err);

	if (r == 0)
		r = context_enter(direct, &context, err);
	if (r < 0)
		return r;
	r = place_children(context, &children, err);
	if (r == 0)
		r = children_range(children, direct->version.index, ordinal, &range, err);
	context_leave(context);
	if (r < 0)
		return r;
	*ret_first = direct_id(direct, range.first);
	*ret_count = range.count;
	return 0;
}
