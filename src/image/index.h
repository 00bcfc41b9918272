/* SPDX-License-Identifier: MIT */
/* The index of one version: names by LMDB, everything else in flat arrays. The only user of LMDB. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "base/span.h"
#include "image/catalogue.h"

/* A file of more than DSFS_SHARED_MAX bytes that has holes. */
struct index_sparse {
	uint64_t ordinal;
	uint64_t hole_bytes;
};

/* An open, checked index in a sealed memfd; shared read-only by all threads. */
struct index {
	struct index_shape shape;
	uint32_t chunk_log;
	uint64_t member_sizes[DSFS_MEMBER_MAX + 1]; /* addresses must lie inside */
	uint32_t member_count;
	bool has_lists; /* of long holes, see hole_list.h */
	struct span inodes, chunks, classes, blob;
	struct index_names *names; /* LMDB's */
	struct index_sparse *sparse; /* by ordinal, see records.h */
	uint64_t sparse_count;
	int memfd;
	void *map;
	uint64_t map_length;
};

/* Copies the version's section into a memfd while hashing it, checks digest, every page and name and whose the chunk
 * records are, seals it and opens it. -EBADMSG says what is wrong. */
must_check int index_load(struct source *source, const struct version *version, struct index **ret,
			  struct error *err);
/* Opens a section that lies in an open file (the packer's own, or a test's); takes fd on success. */
must_check int index_open(int fd, const struct version *version, const uint64_t *member_sizes,
			  uint32_t member_count, struct index **ret, struct error *err);
void index_close(struct index *index);

/* One thread's view of the names. */
struct index_reader;
must_check int index_reader_open(struct index *index, struct index_reader **ret, struct error *err);
void index_reader_close(struct index_reader *reader);

struct index_entry {
	uint64_t number;  /* of the entry within its directory, from 0 */
	uint64_t ordinal; /* of the inode */
	uint8_t type;     /* DT_DIR, DT_REG, DT_LNK */
	const char *name; /* not NUL-terminated; valid until the reader's next call */
	uint8_t name_length;
};

/* -ENOENT when there is no such name. */
must_check int index_lookup(struct index_reader *reader, uint64_t directory, const char *name, size_t length,
			    uint64_t *ret_ordinal);
/* Calls each() for the directory's entries from number first on, in order, until it returns non-zero (which is
 * returned) or they end (0). */
must_check int index_list(struct index_reader *reader, uint64_t directory, uint64_t first,
			  int (*each)(void *argument, const struct index_entry *entry), void *argument);
/* All entries of the version in key order: parents ascending, names in bytewise order. */
must_check int index_walk(struct index_reader *reader,
			  int (*each)(void *argument, uint64_t directory, const struct index_entry *entry),
			  void *argument);
/* The path of an inode (its first name), by search: for error lines only. Falls back to "inode N". */
void index_path(struct index_reader *reader, uint64_t ordinal, char *path, size_t size);

/* Writing the names part. Entries must come in key order; a directory's marks before its entries. */
struct index_writer;
must_check int index_writer_open(const char *path, struct index_writer **ret, struct error *err);
must_check int index_writer_mark(struct index_writer *writer, uint64_t directory, uint32_t number,
				 const char *name, size_t length, struct error *err);
must_check int index_writer_add(struct index_writer *writer, uint64_t directory, const char *name,
				size_t length, uint64_t ordinal, uint8_t type, struct error *err);
/* Writes the finished, compact names part to fd (at its offset 0) and closes the writer, also on failure.
 * *ret_length is a multiple of DSFS_BLOCK. The same entries give the same bytes. */
must_check int index_writer_finish(struct index_writer *writer, int fd, uint64_t *ret_length, struct error *err);
void index_writer_abort(struct index_writer *writer);
