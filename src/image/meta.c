/* SPDX-License-Identifier: MIT */
/* Keeps entries in the order in which a set of attributes has them. */
#include "image/meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "datasetfs/format.h"
#include "image/index.h"
#include "image/inode.h"

static int meta_copy(struct span key, struct span value, struct meta_entry *ret, struct error *err)
{
	char *text = malloc(key.size + 1 + value.size);

	if (!text)
		return error_no_memory(err);
	memcpy(text, key.base, key.size);
	text[key.size] = 0;
	if (value.size)
		memcpy(text + key.size + 1, value.base, value.size);
	*ret = (struct meta_entry){ text, span_of(text + key.size + 1, value.size) };
	return 0;
}

int meta_add(struct meta *meta, struct span key, struct span value, struct error *err)
{
	struct meta_entry entry;
	size_t at = meta->count;
	int order = 1, r;

	r = meta_copy(key, value, &entry, err);
	if (r < 0)
		return r;
	while (at && (order = strcmp(entry.key, meta->list[at - 1].key)) < 0)
		at--;
	r = order ? grow_one(meta->list, meta->count, err) :
		    error_set(err, -EEXIST, "the key '%s' is given twice", entry.key);
	if (r < 0) {
		free(entry.key);
		return r;
	}
	memmove(&meta->list[at + 1], &meta->list[at], (meta->count - at) * sizeof(entry));
	meta->list[at] = entry;
	meta->count++;
	return 0;
}

void meta_free(struct meta *meta)
{
	for (size_t i = 0; i < meta->count; i++)
		free(meta->list[i].key);
	free(meta->list);
	*meta = (struct meta){ 0 };
}

struct meta_loading {
	struct meta *meta;
	struct error *err;
};

static int meta_take(void *argument, struct span name, struct span value)
{
	const size_t prefix = strlen(META_PREFIX);
	struct meta_loading *loading = argument;

	if (name.size <= prefix || memcmp(name.base, META_PREFIX, prefix) != 0)
		return 0;
	return meta_add(loading->meta, span_of(name.base + prefix, name.size - prefix), value, loading->err);
}

int meta_load(const struct index *index, struct meta *ret, struct error *err)
{
	struct meta meta = { 0 };
	struct meta_loading loading = { &meta, err };
	struct inode root;
	int r = inode_get(index, INODE_ROOT, &root, err);

	if (r == 0)
		r = inode_xattrs(index, &root, meta_take, &loading, err);
	if (r < 0)
		meta_free(&meta);
	else
		*ret = meta;
	return r;
}

void meta_json(const struct meta *meta, struct json *json, const char *key)
{
	json_begin_object(json, key);
	for (size_t i = 0; i < meta->count; i++)
		json_bytes(json, meta->list[i].key, meta->list[i].value.base, meta->list[i].value.size);
	json_end_object(json);
}

bool meta_encode(const struct meta *meta, struct xattr_set *set)
{
	char name[DSFS_NAME_MAX + 1];
	int length;

	for (size_t i = 0; i < meta->count; i++) {
		length = snprintf(name, sizeof(name), META_PREFIX "%s", meta->list[i].key);
		if ((size_t)length >= sizeof(name) ||
		    !xattr_set_add(set, span_of(name, (uint64_t)length), meta->list[i].value))
			return false;
	}
	return true;
}
