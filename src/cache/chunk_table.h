/* SPDX-License-Identifier: MIT */
/* The table of a cache's contents: its slots, and the map of the chunks in them, in one memory file. It is saved to a
 * file of the cache's folder, and loaded again; a process can lend the memory file itself to others for reading, and
 * leave it to another one when it ends.
 *
 * A table of another process is foreign: it may be of another volume, of another size, cut off, or made up. Its
 * head is checked, its words and slots are not, as any of them may be wrong. What a saved one costs to load is bounded
 * by the table it goes into. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "cache/chunk_map.h"
#include "cache/slots.h"
#include "datasetfs/le.h"

#define CHUNK_TABLE_NAME        "map"
#define CHUNK_TABLE_MAGIC       UINT64_C(0x6568636163667364) /* "dsfcache" */
#define CHUNK_TABLE_VERSION     1u
#define CHUNK_TABLE_BUCKETS_MAX (UINT64_C(1) << 31) /* 128 GiB */
#define CHUNK_TABLE_SLOTS_MAX   (1u << 28)          /* 1 PiB, and below the blocks that a word has room for */

/* The head, in memory as in the saved file; the slots follow, and from a cache line on the words. */
struct chunk_table_head {
	dsfs_le64 magic;
	dsfs_le32 version, slot_size;
	uint8_t volume[16];
	dsfs_le64 buckets;
	dsfs_le32 slots, hand, day, taken;
};

struct chunk_table_shape {
	uint64_t buckets;
	uint32_t slots;
};

struct chunk_table {
	struct chunk_map map;
	struct slots slots;
	uint8_t volume[16];
	void *memory; /* the head and all else */
	size_t size;
	int fd; /* of the memory; -1: another process lends it, for reading */
};

/* Returns the bytes of a table, with its head. */
uint64_t chunk_table_size(const struct chunk_table_shape *shape);
/* Makes an empty table. */
must_check int chunk_table_new(const struct chunk_table_shape *shape, const uint8_t volume[16], struct chunk_table *ret,
			       struct error *err);
/* Makes one of the memory file of another table, which is taken on success. -EBADMSG: it is no table of this volume. */
must_check int chunk_table_adopt(int fd, const uint8_t volume[16], struct chunk_table *ret, struct error *err);
/* Maps a table that another process lends, for reading, of whichever volume. The caller keeps fd. -EBADMSG: it is no
 * table. */
must_check int chunk_table_borrow(int fd, struct chunk_table *ret, struct error *err);
/* Writes into the memory where the slots go on, for chunk_table_adopt(). */
void chunk_table_note(struct chunk_table *table);
/* A zeroed table may be closed too. */
void chunk_table_close(struct chunk_table *table);

/* Writes the table to a new file, which then takes the name. */
must_check int chunk_table_save(struct chunk_table *table, int folder, struct error *err);
/* Opens a saved table, and checks its head. -ENOENT: nothing was saved. -EBADMSG: it is no table of this volume. */
must_check int chunk_table_find(int folder, const uint8_t volume[16], int *ret_fd, struct chunk_table_shape *ret,
				struct error *err);
/* Checks the head of such a file, and its size. */
must_check int chunk_table_check(int fd, const uint8_t volume[16], struct chunk_table_shape *ret, struct error *err);
/* Fills a table, which has as many buckets, from the file. Others may use it meanwhile. On failure it has a part. */
must_check int chunk_table_load(struct chunk_table *table, int fd, struct error *err);
