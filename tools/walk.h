/* SPDX-License-Identifier: MIT */
/* Walks all names of a version in the order of their paths: the contents of a directory come after it and before its
 * next sibling. Needs memory for one path. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"

struct walk;

struct walk_entry {
	const char *path; /* "/train/1.jpg", not NUL-terminated; valid until the next step */
	size_t length;
	uint8_t name_length; /* length of the last name in path; 0: the directory where the walk begins */
	uint8_t type;        /* DT_DIR, DT_REG, DT_LNK */
	uint64_t ordinal;
};

/* Looks up a path name by name from the root; does not follow symlinks. */
must_check int walk_find(const struct names *names, const char *path, uint64_t *ret_ordinal, struct error *err);

/* Opens a walk. below: the directory to walk; NULL: the root. The index must outlive the walk. */
must_check int walk_open(const struct index *index, const char *below, struct walk **ret, struct error *err);
void walk_close(struct walk *walk);
/* Returns 1 and the next name, the directory itself first; 0 at the end. */
must_check int walk_next(struct walk *walk, struct walk_entry *ret, struct error *err);

static inline const char *walk_name(const struct walk_entry *entry)
{
	return entry->path + entry->length - entry->name_length;
}

static inline void walk_close_ptr(struct walk **walk)
{
	walk_close(*walk);
}
#define auto_walk cleanup(walk_close_ptr)
