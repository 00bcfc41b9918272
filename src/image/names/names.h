/* SPDX-License-Identifier: MIT */
/* The names part of an index: maps (directory, name) to the ordinal of an inode. The only user of LMDB. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* The names part in an open file, which LMDB maps. All threads share it, and may read it at once. LMDB trusts it, so
 * entries_check() must come first. */
struct names;
struct names_tree;
/* Opens the part, which is at offset 0 of fd, and mapped at file, which must outlive it. fd stays the caller's. */
must_check int names_open(int fd, struct span file, struct names **ret, struct error *err);
void names_close(struct names *names);

struct names_entry {
	uint64_t number;  /* of the entry within its directory, from 0 */
	uint64_t ordinal; /* of the inode */
	uint8_t type;     /* DT_DIR, DT_REG, DT_LNK */
	const char *name; /* not NUL-terminated; valid as long as the names are open */
	uint8_t name_length;
};

/* Returns the tree for look-ups in steps, see names_find.h. */
const struct names_tree *names_tree(const struct names *names);
/* Finds a name's ordinal. -ENOENT if there is no such name. */
must_check int names_lookup(const struct names *names, uint64_t directory, const char *name, size_t length,
			    uint64_t *ret_ordinal);
/* Calls each() for the directory's entries from number first on, in order, until it returns non-zero (which is
 * returned) or they end (0). */
must_check int names_list(struct names *names, uint64_t directory, uint64_t first,
			  int (*each)(void *argument, const struct names_entry *entry), void *argument);
/* Finds the first directory from directory on with entries, and its first entry's ordinal; -ENOENT if there is none. */
must_check int names_first(struct names *names, uint64_t directory, uint64_t *ret_directory, uint64_t *ret_ordinal);
/* Finds the last directory that has entries; -ENOENT if none has. */
must_check int names_last(struct names *names, uint64_t *ret_directory);
/* Calls each() for all entries of the version in key order: parents ascending, names in bytewise order. */
must_check int names_walk(struct names *names,
			  int (*each)(void *argument, uint64_t directory, const struct names_entry *entry),
			  void *argument);

/* Writes the names part. Entries must come in key order; a directory's marks before its entries. */
struct names_writer;
/* fd: an empty file, which LMDB opens once more. */
must_check int names_writer_open(int fd, struct names_writer **ret, struct error *err);
must_check int names_writer_mark(struct names_writer *writer, uint64_t directory, uint32_t number, struct span name,
				 struct error *err);
must_check int names_writer_add(struct names_writer *writer, uint64_t directory, struct span name, uint64_t ordinal,
				uint8_t type, struct error *err);
/* Writes the finished, compact names part to fd (at its offset 0) and closes the writer, also on failure. *ret_length
 * is a multiple of DSFS_BLOCK. The same entries give the same bytes. */
must_check int names_writer_finish(struct names_writer *writer, int fd, uint64_t *ret_length, struct error *err);
void names_writer_abort(struct names_writer *writer);
