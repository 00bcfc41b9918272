/* SPDX-License-Identifier: MIT */
/* Sets of extended attributes: decodes them with every bound checked, and encodes them. */
#include "image/xattr.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "datasetfs/format.h"
#include "image/index.h"

static int xattr_damaged(uint64_t offset, struct error *err)
{
	return error_set(err, -EBADMSG, "xattr set at %" PRIu64 ": damaged", offset);
}

/* Returns the set's bytes; base is NULL if there is no set. */
static struct span xattr_span(struct span blob, uint64_t offset)
{
	const struct dsfs_xattr_set *set = span_at(blob, offset, sizeof(*set));
	struct span span = { 0 };

	if (!set || dsfs_le32_get(set->length) < sizeof(*set) || dsfs_le32_get(set->length) > DSFS_XATTRS_MAX)
		return span;
	span.size = dsfs_le32_get(set->length);
	span.base = span_at(blob, offset, span.size);
	return span;
}

int xattr_each(struct span blob, uint64_t offset,
	       int (*each)(void *argument, struct span name, struct span value), void *argument, struct error *err)
{
	struct span set = xattr_span(blob, offset), name, value;
	uint64_t at = sizeof(struct dsfs_xattr_set);
	const struct dsfs_xattr *head;
	uint32_t count;
	int r;

	if (!set.base)
		return xattr_damaged(offset, err);
	count = dsfs_le32_get(((const struct dsfs_xattr_set *)set.base)->count);
	if (!count)
		return error_set(err, -EBADMSG, "xattr set at %" PRIu64 ": no attributes, expected at least one",
				 offset);
	for (uint32_t i = 0; i < count; i++) {
		head = span_at(set, at, sizeof(*head));
		if (!head)
			return xattr_damaged(offset, err);
		name.size = dsfs_le32_get(head->name_length);
		value.size = dsfs_le32_get(head->value_length);
		name.base = span_at(set, at + sizeof(*head), name.size);
		value.base = span_at(set, at + sizeof(*head) + name.size, value.size);
		if (!name.base || !value.base || name.size == 0 || name.size > DSFS_NAME_MAX ||
		    memchr(name.base, 0, name.size))
			return xattr_damaged(offset, err);
		r = each(argument, name, value);
		if (r)
			return r;
		at += sizeof(*head) + name.size + value.size;
	}
	return 0;
}

/* The check of one set's names. */
struct xattr_names {
	uint64_t offset;
	struct span last;
	struct error *err;
};

static bool xattr_ascends(struct span last, struct span name)
{
	uint64_t length = last.size < name.size ? last.size : name.size;
	int order = length ? memcmp(last.base, name.base, length) : 0;

	return order < 0 || (order == 0 && last.size < name.size);
}

static int xattr_check_name(void *argument, struct span name, struct span value)
{
	const uint64_t prefix = strlen(XATTR_PREFIX);
	struct xattr_names *names = argument;

	(void)value;
	if (name.size <= prefix || memcmp(name.base, XATTR_PREFIX, prefix) != 0)
		return error_set(names->err, -EBADMSG, "xattr set at %" PRIu64 ": '%.*s' is not a user attribute",
				 names->offset, (int)name.size, (const char *)name.base);
	if (!xattr_ascends(names->last, name))
		return error_set(names->err, -EBADMSG, "xattr set at %" PRIu64 ": its names are not ascending",
				 names->offset);
	names->last = name;
	return 0;
}

/* Requires that no byte of the blob belongs to two sets: otherwise a small index could make much work. */
int xattr_check(const struct index *index, struct error *err)
{
	const struct dsfs_class *classes = (const struct dsfs_class *)index->classes.base;
	struct xattr_names names = { .err = err };
	uint64_t end = 0, xattrs;
	int r;

	for (uint64_t i = 0; i < index->shape.class_count; i++) {
		xattrs = dsfs_le64_get(classes[i].xattrs);
		if (!xattrs)
			continue;
		names.offset = xattrs - 1;
		names.last = (struct span){ 0 };
		if (names.offset < end)
			return error_set(err, -EBADMSG,
					 "class %" PRIu64 ": its xattr set at %" PRIu64 " begins before %" PRIu64, i,
					 names.offset, end);
		r = xattr_each(index->blob, names.offset, xattr_check_name, &names, err);
		if (r < 0)
			return r;
		end = names.offset + xattr_span(index->blob, names.offset).size;
	}
	return 0;
}

/* --- encoding --- */

struct xattr_set xattr_set_begin(uint8_t *bytes)
{
	return (struct xattr_set){ .bytes = bytes, .used = sizeof(struct dsfs_xattr_set) };
}

uint8_t *xattr_set_value(const struct xattr_set *set, uint64_t name_length, size_t *ret_room)
{
	uint64_t at = set->used + sizeof(struct dsfs_xattr) + name_length;

	if (name_length > DSFS_NAME_MAX || at > DSFS_XATTRS_MAX)
		return NULL;
	*ret_room = DSFS_XATTRS_MAX - at;
	return set->bytes + at;
}

bool xattr_set_add(struct xattr_set *set, struct span name, struct span value)
{
	struct dsfs_xattr head = { .name_length = dsfs_le32_of((uint32_t)name.size),
				   .value_length = dsfs_le32_of((uint32_t)value.size) };
	size_t room;
	uint8_t *to = xattr_set_value(set, name.size, &room);

	if (!to || value.size > room)
		return false;
	if (value.size)
		memmove(to, value.base, value.size);
	memcpy(to - name.size, name.base, name.size);
	memcpy(to - name.size - sizeof(head), &head, sizeof(head));
	set->used = (uint32_t)(to + value.size - set->bytes);
	set->count++;
	return true;
}

uint32_t xattr_set_end(const struct xattr_set *set)
{
	struct dsfs_xattr_set head = { dsfs_le32_of(set->count), dsfs_le32_of(set->used) };

	memcpy(set->bytes, &head, sizeof(head));
	return set->count ? set->used : 0;
}
