/* SPDX-License-Identifier: MIT */
/* Metadata: what a publisher says of a version, in the attributes user.datasetfs.KEY of its root. No source can give
 * them, and the digest covers them. */
#pragma once
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"
#include "base/text/json.h"
#include "image/xattr.h"

#define META_PREFIX XATTR_PREFIX "datasetfs."

struct index;

struct meta_entry {
	char *key; /* without the prefix; its memory holds the value, too */
	struct span value;
};

/* A zeroed one is empty. */
struct meta {
	struct meta_entry *list; /* by key, ascending bytewise */
	size_t count;
};

/* Adds a copy of an entry. -EEXIST: there is one with this key. */
must_check int meta_add(struct meta *meta, struct span key, struct span value, struct error *err);
void meta_free(struct meta *meta);
/* Reads the metadata of a version. What an index holds can be any bytes. */
must_check int meta_load(const struct index *index, struct meta *ret, struct error *err);
/* Writes an object. */
void meta_json(const struct meta *meta, struct json *json, const char *key);
/* Appends all entries to a set. False: there is no room for them. */
must_check bool meta_encode(const struct meta *meta, struct xattr_set *set);
