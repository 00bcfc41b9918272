/* SPDX-License-Identifier: MIT */
/* Collects the parts of the new index except the names: inodes, chunk records, classes and the blob. */
#pragma once
#include "image/inode.h"
#include "layout/classes.h"
#include "layout/sums.h"

struct records {
	struct mapped inodes, chunks, blob;
	struct mapped shared; /* a bit for each chunk record, set if several small files begin with it */
	struct classes classes;
	struct sums sums;       /* of the blocks of raw chunks; those of chunks are of the same kind */
	bool has_frames;        /* some chunk is stored compressed */
	uint64_t clamped_times; /* mtimes that the format cannot hold */
};

must_check int records_open(struct records *records, const struct temp *temp, uint32_t chunk_log, uint32_t sums,
			    const struct override *override, struct error *err);
void records_close(struct records *records); /* a zeroed one may be closed, too */

uint64_t records_chunk_count(const struct records *records);
const struct dsfs_chunk *records_chunk(const struct records *records, uint64_t number);
/* Appends a chunk record. block_sums: sums of the chunk's blocks, kept if it is stored raw on the volume; NULL: it has
 * none. */
must_check int records_add_chunk(struct records *records, const struct dsfs_chunk *record, const uint8_t *block_sums,
				 struct error *err);
/* Notes that several small files begin with the record. */
must_check int records_share(struct records *records, uint64_t number, struct error *err);
bool records_is_shared(const struct records *records, uint64_t number);
must_check int records_add_hole(struct records *records, struct error *err);

/* Writes the item's inode. Size, where, sparse and nlink come from inode, everything else from the item. */
must_check int records_set_inode(struct records *records, const struct item *item, struct inode inode,
				 struct error *err);
/* Adds metadata to the attributes of the root, after the last item. */
must_check int records_add_meta(struct records *records, const struct meta *meta, struct error *err);
/* Returns an inode that was written. The pointer is valid until the next one is written. */
struct dsfs_inode *records_inode(const struct records *records, uint64_t ordinal);
