/* SPDX-License-Identifier: MIT */
/* Looks up a class by a checksum of its attributes, and adds it if it is new. */
#include "layout/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "image/sums/checksum.h"
#include "source/xattrs.h"

int classes_open(struct classes *classes, const struct override *override, const struct temp *temp, struct error *err)
{
	int r;

	*classes = (struct classes){ .override = override };
	r = mapped_open(&classes->list, temp, err);
	return r < 0 ? r : table_open(&classes->keys, temp, err);
}

void classes_close(struct classes *classes)
{
	mapped_close(&classes->list);
	table_close(&classes->keys);
}

void classes_end(struct classes *classes)
{
	table_close(&classes->keys);
}

static struct table_key classes_key(const struct item *item, const struct dsfs_class *class)
{
	struct {
		struct dsfs_class class;
		struct checksum_key xattrs;
	} all;
	struct checksum_key key;

	memset(&all, 0, sizeof(all));
	all.class = *class;
	if (item->result.xattrs)
		all.xattrs = checksum_128(item->result.xattrs, item->result.xattrs_length);
	key = checksum_128(&all, sizeof(all));
	return (struct table_key){ key.low, key.high };
}

/* Returns whether the class has the item's attributes: its key is only a checksum, so they are compared. */
static bool classes_is(const struct classes *classes, const struct mapped *blob, uint64_t number,
		       const struct item *item, const struct dsfs_class *class)
{
	struct dsfs_class found = ((const struct dsfs_class *)classes->list.bytes)[number];
	uint64_t xattrs = dsfs_le64_get(found.xattrs);

	found.xattrs = dsfs_le64_of(0);
	if (memcmp(&found, class, sizeof(found)) != 0 || !xattrs != !item->result.xattrs)
		return false;
	return !xattrs || (xattrs - 1 + item->result.xattrs_length <= blob->length &&
			   !memcmp(blob->bytes + xattrs - 1, item->result.xattrs, item->result.xattrs_length));
}

static int classes_add(struct classes *classes, struct mapped *blob, struct span xattrs, struct dsfs_class class,
		       uint64_t *ret, struct error *err)
{
	uint64_t offset, number = classes->list.length / sizeof(class);
	int r;

	if (number > UINT32_MAX)
		return error_set(err, -E2BIG, "more than 2^32 sets of attributes");
	if (xattrs.base) {
		r = mapped_append(blob, xattrs.base, xattrs.size, &offset, err);
		if (r < 0)
			return r;
		class.xattrs = dsfs_le64_of(offset + 1);
	}
	*ret = number;
	return mapped_append(&classes->list, &class, sizeof(class), NULL, err);
}

int classes_find(struct classes *classes, struct mapped *blob, const struct item *item, uint32_t *ret,
		 struct error *err)
{
	struct attributes a = item->attributes;
	struct dsfs_class class;
	struct table_key key;
	uint64_t number = 0;
	bool found;
	int r;

	override_apply(classes->override, &a);
	class = (struct dsfs_class){ .mode = dsfs_le32_of(a.mode), .uid = dsfs_le32_of(a.uid),
				     .gid = dsfs_le32_of(a.gid) };
	key = classes_key(item, &class);
	found = table_find(&classes->keys, key, &number);
	if (!found || !classes_is(classes, blob, number, item, &class)) {
		r = classes_add(classes, blob, span_of(item->result.xattrs, item->result.xattrs_length), class, &number,
				err);
		if (r == 0 && !found)
			r = table_set(&classes->keys, key, number, err);
		if (r < 0)
			return r;
	}
	*ret = (uint32_t)number;
	return 0;
}

/* A set of attributes into which metadata comes, in its place in the order of names. */
struct classes_merge {
	struct xattr_set set;
	const struct meta *meta;
	bool is_added;
};

static bool classes_add_due(struct classes_merge *merge)
{
	if (merge->is_added)
		return true;
	merge->is_added = true;
	return meta_encode(merge->meta, &merge->set);
}

/* Appends an attribute, whose name does not begin as those of metadata do. */
static int classes_merge_one(void *argument, struct span name, struct span value)
{
	size_t prefix = strlen(META_PREFIX), length = name.size < prefix ? name.size : prefix;
	struct classes_merge *merge = argument;
	bool is_behind = memcmp(name.base, META_PREFIX, length) > 0;

	return (!is_behind || classes_add_due(merge)) && xattr_set_add(&merge->set, name, value) ? 0 : -E2BIG;
}

int classes_add_meta(struct classes *classes, struct mapped *blob, uint32_t number, const struct meta *meta,
		     uint32_t *ret, struct error *err)
{
	struct dsfs_class class = ((const struct dsfs_class *)classes->list.bytes)[number];
	auto_free uint8_t *bytes = malloc(DSFS_XATTRS_MAX);
	struct classes_merge merge = { .set = xattr_set_begin(bytes), .meta = meta };
	uint64_t xattrs = dsfs_le64_get(class.xattrs), added = 0;
	int r = 0;

	if (!bytes)
		return error_no_memory(err);
	if (xattrs)
		r = xattr_each(span_of(blob->bytes, blob->length), xattrs - 1, classes_merge_one, &merge, err);
	if (r == -E2BIG || !classes_add_due(&merge))
		return error_set(err, -E2BIG, "the attributes of the top folder and --meta take more than %u bytes"
				 XATTRS_HINT, DSFS_XATTRS_MAX);
	if (r == 0)
		r = classes_add(classes, blob, span_of(bytes, xattr_set_end(&merge.set)), class, &added, err);
	if (r == 0)
		*ret = (uint32_t)added;
	return r;
}
