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
#include "datasetfs/le.h"
#include "tier/map.h"
#include "tier/slots.h"

#define HOLDINGS_NAME        "map"
#define HOLDINGS_MAGIC       UINT64_C(0x6568636163667364) /* "dsfcache" */
#define HOLDINGS_VERSION     1u
#define HOLDINGS_BUCKETS_MAX (UINT64_C(1) << 31) /* 128 GiB */
#define HOLDINGS_SLOTS_MAX   (1u << 28)          /* 1 PiB, and below the blocks that a word has room for */

/* The head, in memory as in the saved file; the slots follow, and from a cache line on the words. */
struct holdings_head {
	dsfs_le64 magic;
	dsfs_le32 version, slot_size;
	uint8_t volume[16];
	dsfs_le64 buckets;
	dsfs_le32 slots, hand, day, taken;
};

struct holdings_shape {
	uint64_t buckets;
	uint32_t slots;
};

struct holdings {
	struct map map;
	struct slots slots;
	uint8_t volume[16];
	void *memory; /* the head and all else */
	size_t size;
	int fd; /* of the memory; -1: another process lends it, for reading */
};

/* Returns the bytes of a table, with its head. */
uint64_t holdings_size(const struct holdings_shape *shape);
/* Makes an empty table. */
must_check int holdings_new(const struct holdings_shape *shape, const uint8_t volume[16], struct holdings *ret,
			    struct error *err);
/* Makes one of the memory file of another table, which is taken on success. -EBADMSG: it is no table of this volume. */
must_check int holdings_adopt(int fd, const uint8_t volume[16], struct holdings *ret, struct error *err);
/* Maps a table that another process lends, for reading, of whichever volume. The caller keeps fd. -EBADMSG: it is no
 * table. */
must_check int holdings_borrow(int fd, struct holdings *ret, struct error *err);
/* Writes into the memory where the slots go on, for holdings_adopt(). */
void holdings_note(struct holdings *table);
/* A zeroed table may be closed too. */
void holdings_close(struct holdings *table);

/* Writes the table to a new file, which then takes the name. */
must_check int holdings_save(struct holdings *table, int folder, struct error *err);
/* Opens a saved table, and checks its head. -ENOENT: nothing was saved. -EBADMSG: it is no table of this volume. */
must_check int holdings_find(int folder, const uint8_t volume[16], int *ret_fd, struct holdings_shape *ret,
			     struct error *err);
/* Checks the head of such a file, and its size. */
must_check int holdings_check(int fd, const uint8_t volume[16], struct holdings_shape *ret, struct error *err);
/* Fills a table, which has as many buckets, from the file. Others may use it meanwhile. On failure it has a part. */
must_check int holdings_load(struct holdings *table, int fd, struct error *err);
