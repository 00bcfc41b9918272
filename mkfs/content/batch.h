/* SPDX-License-Identifier: MIT */
/* A batch is a reader's unit of work: consecutive inodes of the scan, or a piece of a large file. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "datasetfs/format.h"
#include "image/sums/checksum.h"
#include "image/sums/sum.h"
#include "source/attributes.h"
#include "source/dirfd.h"

#define BATCH_BYTES  DSFS_SHARED_MAX /* content in a batch; files up to this are read and shared whole */
#define BATCH_ITEMS  256u
#define BATCH_DIRS   8u /* directories whose descriptors a batch keeps open */
#define BATCH_CHUNKS (BATCH_BYTES / (1u << DSFS_CHUNK_LOG_MIN) + BATCH_ITEMS)
/* Bytes of block checksums: 8 for each DSFS_BLOCK, or 32 for every four of them or fewer at the end. */
#define BATCH_BLOCKS (BATCH_BYTES / DSFS_BLOCK * sizeof(dsfs_le64) + DSFS_SUM_MAX)

enum item_kind {
	ITEM_FILE,      /* a whole file of at most BATCH_BYTES */
	ITEM_PIECE,     /* BATCH_BYTES of a larger file, less at its end */
	ITEM_SKIP,      /* a hole that would be many pieces, with other pieces before and after it */
	ITEM_UNCHANGED, /* a file whose content is taken from an older version without reading it */
	ITEM_SYMLINK,
	ITEM_DIRECTORY, /* dir is the directory itself, name is empty */
	ITEM_LINK,      /* another name of an inode that came before */
};

/* A chunk after the reader's work. */
struct batch_chunk {
	struct sum sum;
	uint64_t duplicate_of; /* record of the same content on the volume, see dedup.h; 0: none */
	const uint8_t *block_sums; /* sums of its blocks, for a chunk of a large file; else NULL */
	const uint8_t *content;
	const uint8_t *bytes; /* stored bytes: content itself, or a frame in the batch's frames */
	uint32_t length;      /* of content */
	uint32_t stored;      /* of bytes */
	uint8_t codec;
	bool is_hole;
};

/* The results of an item's reader, which are already there in an item that is_loaded. */
struct item_result {
	uint32_t first_chunk, chunk_count;
	struct checksum_key key; /* whole files */
	uint64_t read_bytes;     /* from the source */
	uint8_t *xattrs;         /* encoded set, or NULL */
	uint32_t xattrs_length;
};

struct item {
	enum item_kind kind;
	uint64_t ordinal;
	uint64_t parent, entries, subdirectories; /* directories */
	uint64_t offset;                          /* pieces: where in the file */
	uint64_t skip;                            /* bytes of the hole, a multiple of BATCH_BYTES */
	uint64_t previous_ordinal;                /* of the same file in the trusted version, 0: none */
	uint32_t length;                          /* bytes of content, or room for a symlink's target */
	uint32_t name_length;
	uint16_t file_kind;                       /* see compress_hints.h */
	bool is_loaded;                           /* content and xattrs came with the item: nothing is read */
	bool compress;                            /* the reader tries to compress it */
	struct attributes attributes;
	struct dirfd *dir;
	char *name;
	uint32_t content_at; /* offset in the memory of the batch */
	uint8_t *content;    /* valid once memory was lent; a symlink's target that a reader read ends with a NUL */
	struct item_result result;
};

/* Memory lent to a batch from the time a reader starts on it until it is taken; a waiting batch needs none. */
struct batch_memory {
	uint8_t *content; /* BATCH_BYTES */
	uint8_t *frames;  /* BATCH_BYTES; NULL if nothing is compressed */
};

struct batch {
	uint64_t number;
	struct item items[BATCH_ITEMS];
	uint32_t count;
	uint32_t dirs;
	uint32_t content_used;
	struct batch_chunk chunks[BATCH_CHUNKS];
	uint32_t chunk_count;
	uint32_t frames_used;
	uint8_t blocks[BATCH_BLOCKS]; /* block checksums; chunks[].block_sums point here */
	uint32_t blocks_used;
	struct batch_memory memory;
	char names[BATCH_ITEMS * (DSFS_NAME_MAX + 1)];
	uint32_t names_used;
	int result; /* of the reader; error has the reason */
	struct error error;
};

must_check int batch_memory_open(struct batch_memory *memory, bool frames, struct error *err);
void batch_memory_close(struct batch_memory *memory); /* a zeroed one may be closed, too */

/* Drops all items, which leaves an empty batch; a zeroed one is empty as well. Its memory must have been taken back. */
void batch_clear(struct batch *batch);
/* Adds an item, zeroed except for dir, name and length. Returns NULL if the batch has no room for it. */
struct item *batch_add(struct batch *batch, struct dirfd *dir, struct span name, size_t content);
void batch_lend(struct batch *batch, struct batch_memory memory);
struct batch_memory batch_take_back(struct batch *batch);
