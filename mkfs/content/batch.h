/* SPDX-License-Identifier: MIT */
/* A batch: some consecutive inodes of the scan, or a piece of a large file. The unit of work of a reader. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "datasetfs/format.h"
#include "image/checksum.h"
#include "source/attributes.h"
#include "source/dirfd.h"

#define BATCH_BYTES  DSFS_SHARED_MAX /* content in a batch; files up to this are read and shared whole */
#define BATCH_ITEMS  256u
#define BATCH_DIRS   8u /* directories whose descriptors a batch keeps open */
#define BATCH_CHUNKS (BATCH_BYTES / (1u << DSFS_CHUNK_LOG_MIN) + BATCH_ITEMS)
#define BATCH_BLOCKS (BATCH_BYTES / DSFS_BLOCK + BATCH_ITEMS)

enum item_kind {
	ITEM_FILE,      /* a whole file of at most BATCH_BYTES */
	ITEM_PIECE,     /* BATCH_BYTES of a larger one, less at its end */
	ITEM_SKIP,      /* what would be many pieces of a hole, with others before and behind */
	ITEM_UNCHANGED, /* a file whose content is taken from an earlier version without looking at it */
	ITEM_SYMLINK,
	ITEM_DIRECTORY, /* dir is the directory itself, name is empty */
	ITEM_LINK,      /* one more name of an inode that came before */
};

/* What the reader made of one chunk. */
struct batch_chunk {
	uint64_t sum;
	uint64_t duplicate_of; /* record of the same content on the volume, see dedup.h; 0: none */
	const le64 *fine;     /* sums of its blocks, if it is one of a large file; else NULL */
	const uint8_t *content;
	const uint8_t *bytes; /* to be stored: content itself, or a frame in the batch's frames */
	uint32_t length;      /* of content */
	uint32_t stored;      /* of bytes */
	uint8_t codec;
	bool is_hole;
};

struct item {
	enum item_kind kind;
	uint64_t ordinal;
	uint64_t parent, entries, subdirectories; /* directories */
	uint64_t offset;                          /* pieces: where in the file */
	uint64_t skip;                            /* bytes of the hole, a multiple of BATCH_BYTES */
	uint64_t previous_ordinal;                /* of the same file in the version that is trusted, 0: none */
	uint32_t length;                          /* bytes of content, or room for a symlink's target */
	uint32_t name_length;
	uint16_t file_kind;                       /* see compress_hints.h */
	bool compress;                            /* worth a try */
	struct attributes attributes;
	struct dirfd *dir;
	char *name;
	uint32_t content_at; /* in the memory of the batch */
	uint8_t *content;    /* once there is one */
	/* results */
	uint32_t first_chunk, chunk_count;
	struct checksum_key key; /* whole files */
	uint64_t read_bytes;     /* from the source */
	uint8_t *xattrs;         /* encoded set, or NULL */
	uint32_t xattrs_length;
};

/* Lent to a batch while its files are read and taken, as what is waiting for that needs none. */
struct batch_memory {
	uint8_t *content; /* BATCH_BYTES */
	uint8_t *frames;  /* as many, NULL when nothing is compressed */
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
	le64 blocks[BATCH_BLOCKS]; /* their sums, in chunks[].fine */
	uint32_t block_count;
	struct batch_memory memory;
	char names[BATCH_ITEMS * (DSFS_NAME_MAX + 1)];
	uint32_t names_used;
	bool done;
	int result; /* of the reader, with error */
	struct error error;
};

must_check int batch_memory_open(struct batch_memory *memory, bool frames, struct error *err);
void batch_memory_close(struct batch_memory *memory); /* a zeroed one as well */

/* An empty batch is a zeroed one. Releases its directories and xattrs; the memory must have been taken back. */
void batch_clear(struct batch *batch);
/* Room for one more item: NULL when there is none. The item is zeroed except for dir, name and length. */
struct item *batch_add(struct batch *batch, struct dirfd *dir, const char *name, size_t name_length, size_t content);
void batch_lend(struct batch *batch, struct batch_memory memory);
struct batch_memory batch_take_back(struct batch *batch);
