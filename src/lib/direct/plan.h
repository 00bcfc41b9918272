/* SPDX-License-Identifier: MIT */
/* Reads that wait, in the order of their places on the volume, and which of them one read of the device serves: whole
 * small files that lie side by side. */
#pragma once
#include "image/chunk.h"
#include "lib/direct/direct.h"
#include "lib/fifo.h"
#include "lib/permission.h"

struct cached;

#define PLAN_GAP (16u << 10) /* bytes between two files up to which both are read at once, with what is between them */
#define PLAN_COPIED (256u << 10) /* bytes of the largest file that is joined with others into buffers, by a copy */

/* A whole file. */
struct plan_file {
	struct dsfs_read *read;
	uint32_t chunk, chunk_count; /* in the plan; chunk_count 0: it is made alone */
};

/* Files that are read as one. */
struct plan_join {
	uint32_t first, count; /* in the plan */
	uint32_t chunk, chunk_count;
	uint64_t bytes; /* of contents */
	bool has_buffers; /* of the caller; the others have none */
	bool is_spread;   /* no buffers, and none is compressed: they lie in memory as on the volume */
};

struct plan {
	unsigned uses;            /* the owner, and joins that are not finished yet; plan_put() */
	size_t read_count;
	struct plan_file *files;  /* the ones that may be joined, by address, then the others */
	struct chunk *chunks;     /* of the files that may be joined, in their order */
	uint8_t **places;         /* for each chunk, where it goes in the caller's buffer; NULL: there is none */
	struct plan_join *joins;  /* in the order of their offsets, so that all members are busy */
	size_t join_count, next;  /* next: the first join that is not taken yet */
};

#define PLAN_MOST (64u << 10) /* reads of a plan, to limit its memory */
#define PLAN_ORDINAL ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1) /* the bits of an id that say which inode it is */

/* Takes the first reads out of todo, PLAN_MOST at most, and makes a plan of them if some are of whole files near each
 * other. False: none of three pairs is, and a program that reads at random pays for these alone; or there is no memory
 * for it. Files that this machine's cache has (NULL: there is none) are not joined: they are near each other on the
 * volume, and anywhere in it. */
bool plan_make(const struct direct *direct, const struct cached *cached, struct permission *permission,
	       struct fifo *todo, struct plan **ret);
struct plan *plan_use(struct plan *plan);
void plan_put(struct plan *plan); /* NULL does nothing */
/* Whether every read is taken. */
bool plan_is_over(const struct plan *plan);
/* Returns the next join of at least two reads; NULL: the next read is made alone, or there is none. */
struct plan_join *plan_peek(const struct plan *plan);
/* Takes the next read to make it alone; NULL: there is none. */
struct dsfs_read *plan_take(struct plan *plan);
/* Returns the bytes of contents of a file that may be joined. */
uint64_t plan_bytes(const struct plan *plan, const struct plan_file *file);
/* Whether the chunk belongs to such a file. */
bool plan_has(const struct plan *plan, const struct plan_file *file, const struct chunk *chunk);
/* Returns the bytes from the first chunk of a join to the end of its last one, as they lie on the volume. */
uint64_t plan_span(const struct plan *plan, const struct plan_join *join);
/* Prefetches records of files that come soon: they lie at random places of a large index, each a cache miss. The
 * arguments may be NULL. */
void plan_expect(const struct index *index, const struct dsfs_read *later, const struct dsfs_read *soon);

#define PLAN_AHEAD 4u /* files from a read to `soon`, and half of those to `later` */
