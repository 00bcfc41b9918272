/* SPDX-License-Identifier: MIT */
/* Shares attributes, so that the image does not grow with the number of files that have the same set. An inode can
 * refer to at most 255 shared attributes; it stores a larger set itself. */
#include "erofs/erofs_xattrs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/round.h"
#include "base/text/json.h"
#include "base/text/memstream.h"
#include "datasetfs/control.h"
#include "erofs/erofs_format.h"
#include "image/catalogue/version_json.h"
#include "image/xattr.h"

static uint64_t xattrs_entry_bytes(struct span name, struct span value)
{
	return round_up(sizeof(struct erofs_xattr) + name.size - strlen(XATTR_PREFIX) + value.size, 4);
}

struct xattrs_collection {
	struct erofs_xattrs_table *table;
	struct erofs_xattr_set set;
	uint64_t own; /* bytes of all its attributes */
	struct error *err;
};

static int xattrs_count(void *argument, struct span name, struct span value)
{
	struct xattrs_collection *c = argument;

	c->set.count++;
	c->own += xattrs_entry_bytes(name, value);
	return 0;
}

static int xattrs_number(void *argument, struct span name, struct span value)
{
	struct xattrs_collection *c = argument;
	struct erofs_xattrs_table *table = c->table;
	int r = grow(table->numbers, table->number_room, table->number_count + 1, c->err);

	if (r < 0)
		return r;
	if (table->bytes / 4 > UINT32_MAX)
		return error_set(c->err, -EFBIG, "more than 16 GiB of extended attributes");
	table->numbers[table->number_count++] = (uint32_t)(table->bytes / 4);
	table->bytes += xattrs_entry_bytes(name, value);
	return 0;
}

static int xattrs_collect_set(struct erofs_xattrs_table *table, uint64_t offset, struct error *err)
{
	struct xattrs_collection c = { .table = table, .set = { .offset = offset }, .err = err };
	int r = xattr_each(table->index->blob, offset - 1, xattrs_count, &c, err);

	if (r == 0)
		r = grow(table->sets, table->set_room, table->set_count + 1, err);
	if (r < 0)
		return r;
	if (table->set_count && table->sets[table->set_count - 1].offset >= offset)
		return error_set(err, -EBADMSG, "sets of attributes are not in the order of their classes");
	c.set.bytes = (uint32_t)(sizeof(struct erofs_xattrs) +
				 (c.set.count <= EROFS_SHARED_MAX ? 4 * (uint64_t)c.set.count : c.own));
	c.set.first = (uint32_t)table->number_count;
	table->sets[table->set_count++] = c.set;
	return c.set.count <= EROFS_SHARED_MAX ? xattr_each(table->index->blob, offset - 1, xattrs_number, &c, err) : 0;
}

static int xattrs_describe(struct erofs_xattrs_table *table, const struct version *version, struct error *err)
{
	struct json json = { .out = memstream_open(&table->text, &table->text_length) };

	if (!json.out)
		return error_no_memory(err);
	json_begin_object(&json, NULL);
	version_json(version, &json);
	json_end_object(&json);
	return memstream_close(json.out, &table->text, err);
}

static struct span xattrs_text(const struct erofs_xattrs_table *table)
{
	return span_of(table->text, table->text_length);
}

static int xattrs_collect_root(struct erofs_xattrs_table *table, const struct version *version, struct error *err)
{
	const struct erofs_xattr_set *set;
	struct inode root;
	int r = inode_get(table->index, INODE_ROOT, &root, err);

	if (r == 0)
		r = xattrs_describe(table, version, err);
	if (r < 0)
		return r;
	set = erofs_xattrs_of(table, &root);
	if (set)
		table->root = *set;
	else
		table->root.bytes = sizeof(struct erofs_xattrs);
	table->root.bytes += (uint32_t)xattrs_entry_bytes(span_text(DSFS_VERSION_ATTRIBUTE), xattrs_text(table));
	table->root.is_root = true;
	return 0;
}

int erofs_xattrs_collect(const struct index *index, const struct version *version, struct erofs_xattrs_table *ret,
			 struct error *err)
{
	struct erofs_xattrs_table table = { .index = index };
	const struct dsfs_class *class;
	uint64_t offset;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < index->shape.class_count; i++) {
		class = span_at(index->classes, i * sizeof(*class), sizeof(*class));
		offset = class ? dsfs_le64_get(class->xattrs) : 0;
		if (offset)
			r = xattrs_collect_set(&table, offset, err);
	}
	if (r == 0)
		r = xattrs_collect_root(&table, version, err);
	if (r < 0)
		erofs_xattrs_free(&table);
	else
		*ret = table;
	return r;
}

void erofs_xattrs_free(struct erofs_xattrs_table *table)
{
	free(table->sets);
	free(table->numbers);
	free(table->text);
	*table = (struct erofs_xattrs_table){ 0 };
}

const struct erofs_xattr_set *erofs_xattrs_of(const struct erofs_xattrs_table *table, const struct inode *inode)
{
	size_t low = 0, high = table->set_count, middle;

	if (inode->ordinal == INODE_ROOT && table->root.is_root)
		return &table->root;
	while (inode->xattrs && low < high) {
		middle = low + (high - low) / 2;
		if (table->sets[middle].offset == inode->xattrs)
			return &table->sets[middle];
		if (table->sets[middle].offset < inode->xattrs)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

struct xattrs_output {
	struct erofs_sink *sink;
	struct error *err;
};

static int xattrs_put_entry(void *argument, struct span name, struct span value)
{
	struct xattrs_output *output = argument;
	size_t prefix = strlen(XATTR_PREFIX);
	struct erofs_xattr head = { .name_length = (uint8_t)(name.size - prefix),
				    .prefix = EROFS_NAME_USER,
				    .value_length = dsfs_le16_of((uint16_t)value.size) };
	uint64_t bytes = sizeof(head) + head.name_length + value.size;
	int r = erofs_sink_put(output->sink, &head, sizeof(head), output->err);

	if (r == 0)
		r = erofs_sink_put(output->sink, name.base + prefix, head.name_length, output->err);
	if (r == 0)
		r = erofs_sink_put(output->sink, value.base, value.size, output->err);
	return r < 0 ? r : erofs_sink_put(output->sink, NULL, round_up(bytes, 4) - bytes, output->err);
}

int erofs_xattrs_put(const struct erofs_xattrs_table *table, const struct erofs_xattr_set *set,
		     struct erofs_sink *sink, struct error *err)
{
	bool is_shared = set->count <= EROFS_SHARED_MAX;
	struct erofs_xattrs head = { .shared_count = is_shared ? (uint8_t)set->count : 0 };
	struct xattrs_output output = { sink, err };
	dsfs_le32 number;
	int r = erofs_sink_put(sink, &head, sizeof(head), err);

	for (uint32_t i = 0; r == 0 && i < head.shared_count; i++) {
		number = dsfs_le32_of(table->numbers[set->first + i]);
		r = erofs_sink_put(sink, &number, sizeof(number), err);
	}
	/* Where the version has an attribute of this name itself, the kernel gives the one that it finds first. */
	if (r == 0 && set->is_root)
		r = xattrs_put_entry(&output, span_text(DSFS_VERSION_ATTRIBUTE), xattrs_text(table));
	return r < 0 || is_shared ? r : xattr_each(table->index->blob, set->offset - 1, xattrs_put_entry, &output, err);
}

int erofs_xattrs_put_shared(const struct erofs_xattrs_table *table, struct erofs_sink *sink, struct error *err)
{
	struct xattrs_output output = { sink, err };
	int r = 0;

	for (size_t i = 0; r == 0 && i < table->set_count; i++)
		if (table->sets[i].count <= EROFS_SHARED_MAX)
			r = xattr_each(table->index->blob, table->sets[i].offset - 1, xattrs_put_entry, &output, err);
	return r;
}
