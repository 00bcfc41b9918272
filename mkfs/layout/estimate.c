/* SPDX-License-Identifier: MIT */
/* Adds up the space of content without sharing and compression, by the placement rules of store.c. */
#include "layout/estimate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "content/batch.h"
#include "image/catalogue/block_sums.h"
#include "layout/store.h"
#include "output/target.h"
#include "output/writer.h"
#include "spill/table.h"

#define ESTIMATE_NODE 10u /* bytes of an LMDB entry beside key and value: header and pointer */

struct estimate {
	uint32_t chunk_log, sums;
	bool is_random;
	uint64_t files, directories, symlinks;
	uint64_t content_bytes, sparse_bytes;
	uint64_t names_bytes, blob_bytes, inline_bytes, chunks;
	uint64_t rows;                      /* of block checksums */
	uint64_t waiting_bytes;             /* in temporary files, of small files */
	uint64_t whole_files, large_chunks; /* entries of the tables of content */
	struct space space; /* an endless volume, in which files are placed */
	uint64_t end;       /* of the files placed so far */
};

int estimate_open(uint32_t chunk_log, uint32_t sums, bool is_random, struct estimate **ret, struct error *err)
{
	struct estimate *estimate = calloc(1, sizeof(*estimate));
	int r;

	if (!estimate)
		return error_no_memory(err);
	estimate->chunk_log = chunk_log;
	estimate->sums = sums;
	estimate->is_random = is_random;
	r = space_open(&estimate->space, NULL, NULL, PACK_SEGMENT_LOG, SPACE_ENDLESS, err);
	if (r < 0) {
		free(estimate);
		return r;
	}
	*ret = estimate;
	return 0;
}

void estimate_free(struct estimate *estimate)
{
	if (!estimate)
		return;
	space_close(&estimate->space);
	free(estimate);
}

static void estimate_name(struct estimate *estimate, size_t key, size_t value)
{
	estimate->names_bytes += round_up(ESTIMATE_NODE + key + value, 2);
}

static int estimate_mark(void *argument, uint64_t directory, uint32_t number, const struct listing_entry *entry,
			 struct error *err)
{
	(void)directory;
	(void)number;
	(void)err;
	estimate_name(argument, DSFS_KEY_PARENT + 5, entry->name_length);
	return 0;
}

static int estimate_directory(void *argument, const struct scan_directory *directory, struct error *err)
{
	struct estimate *estimate = argument;

	(void)directory;
	(void)err;
	estimate->directories++;
	return 0;
}

/* Takes space as the writer does: padding is not filled any more once its buffer was handed to the thread. */
static void estimate_reserve(struct estimate *estimate, uint64_t bytes)
{
	uint64_t offset, end;

	if (!space_take(&estimate->space, bytes, bytes < DSFS_BLOCK ? SPACE_WHOLE : SPACE_BLOCK, &offset))
		return;
	end = offset + bytes;
	if (end <= estimate->end)
		return;
	if (end / WRITER_BUFFER > estimate->end / WRITER_BUFFER)
		space_forget_gaps(&estimate->space);
	estimate->end = end;
}

/* Adds a file. Holes count as data: the allocated size would be wrong for files that their filesystem compresses. */
static void estimate_file(struct estimate *estimate, const struct attributes *attributes)
{
	uint64_t bytes = attributes->size;
	uint64_t chunks = round_up(attributes->size, UINT64_C(1) << estimate->chunk_log) >> estimate->chunk_log;

	estimate->files++;
	estimate->content_bytes += attributes->size;
	estimate->sparse_bytes += attributes->has_holes ? attributes->size : 0;
	estimate->chunks += chunks;
	if (attributes->size > BATCH_BYTES && UINT64_C(1) << estimate->chunk_log > sum_block(estimate->sums))
		estimate->rows += chunks;
	if (attributes->size > BATCH_BYTES)
		estimate->large_chunks += bytes >> estimate->chunk_log;
	else if (attributes->size)
		estimate->whole_files++;
	if (bytes <= STORE_INLINE_MAX && estimate->inline_bytes + bytes <= STORE_INLINE_TOTAL)
		estimate->inline_bytes += bytes;
	else
		estimate_reserve(estimate, bytes);
	if (estimate->is_random && bytes <= BATCH_BYTES)
		estimate->waiting_bytes += bytes;
}

static int estimate_entry(void *argument, const struct scan_directory *directory, const struct scan_entry *entry,
			  struct error *err)
{
	struct estimate *estimate = argument;

	(void)directory;
	(void)err;
	estimate_name(estimate, DSFS_KEY_PARENT + entry->name_length, sizeof(struct dsfs_entry));
	if (entry->is_link)
		return 0;
	if (S_ISREG(entry->attributes->mode))
		estimate_file(estimate, entry->attributes);
	if (S_ISLNK(entry->attributes->mode)) {
		estimate->symlinks++;
		estimate->blob_bytes += entry->attributes->size;
	}
	return 0;
}

struct scan_sink estimate_sink(struct estimate *estimate)
{
	return (struct scan_sink){ estimate_mark, estimate_directory, estimate_entry, estimate };
}

/* Estimates the index. Leaf pages of LMDB are filled in order and lose about half an entry each; branch pages add a
 * hundredth. */
static uint64_t estimate_index(const struct estimate *estimate, const struct scan_counts *counts)
{
	uint64_t names = round_up(estimate->names_bytes + estimate->names_bytes / 32 + 4 * DSFS_BLOCK, DSFS_BLOCK);

	return names + round_up(counts->inodes * sizeof(struct dsfs_inode), DSFS_BLOCK) +
	       round_up(estimate->chunks * index_record_size(estimate->sums), DSFS_BLOCK) + DSFS_BLOCK +
	       round_up(estimate->blob_bytes + estimate->inline_bytes +
				(estimate->is_random ? estimate->files * sizeof(dsfs_le32) : 0),
			DSFS_BLOCK);
}

static uint64_t estimate_block_sums(const struct estimate *estimate)
{
	struct block_sums_layout layout;

	block_sums_layout(estimate->sums, estimate->chunk_log, estimate->chunks, estimate->rows, &layout);
	return estimate->rows ? layout.length : 0;
}

/* Estimates the stat cache: inode numbers and ctimes. */
static uint64_t estimate_stat_cache(const struct estimate *estimate, const struct scan_counts *counts)
{
	return estimate->files ? round_up(2 * counts->inodes * sizeof(dsfs_le64), DSFS_BLOCK) : 0;
}

/* Estimates temporary files: the index and the stat cache twice (in parts, and put together), block checksums, tables,
 * the spool of directories, and contents that wait for their places, with what sorts them. */
static uint64_t estimate_temporary(const struct estimate *estimate, const struct scan_counts *counts,
				   uint64_t index_bytes, uint64_t block_sums_bytes)
{
	return 2 * (index_bytes + estimate_stat_cache(estimate, counts)) + block_sums_bytes +
	       table_size(estimate->whole_files) + table_size(estimate->large_chunks) + table_size(counts->linked) +
	       counts->path_bytes + estimate->waiting_bytes +
	       (estimate->is_random ? estimate->files * SCATTER_SORTED : 0);
}

int estimate_free_bytes(const struct target *target, uint64_t *ret, struct error *err)
{
	struct statvfs fs;

	if (target_is_on_devices(target)) {
		*ret = allocator_free(&target->transaction.allocator);
		return 0;
	}
	if (fstatvfs(target_folder(target), &fs) < 0)
		return error_errno(err, "cannot determine the free space for '%s'", target->path);
	*ret = (uint64_t)fs.f_bavail * fs.f_frsize;
	return 0;
}

int estimate_end(const struct estimate *estimate, const struct scan_counts *counts, const struct target *target,
		 struct pack_estimate *ret, struct error *err)
{
	struct pack_estimate result = {
		.files = estimate->files,
		.directories = estimate->directories,
		.symlinks = estimate->symlinks,
		.hard_links = counts->links,
		.special = counts->special,
		.content_bytes = estimate->content_bytes,
		.least_bytes = estimate->content_bytes - estimate->sparse_bytes,
		.versions = target->transaction.catalogue.version_count,
	};
	uint64_t needed;
	int r;

	result.index_bytes = estimate_index(estimate, counts);
	result.block_sums_bytes = estimate_block_sums(estimate);
	result.temporary_bytes = estimate_temporary(estimate, counts, result.index_bytes, result.block_sums_bytes);
	result.image_bytes = space_taken(&estimate->space) + result.index_bytes + result.block_sums_bytes +
			     estimate_stat_cache(estimate, counts) + DSFS_BLOCK +
			     (target->transaction.is_new ? DSFS_DATA_AT : 0);
	r = estimate_free_bytes(target, &result.free_bytes, err);
	if (r < 0)
		return r;
	needed = result.image_bytes;
	if (target_is_on_devices(target) && target->transaction.is_new) /* free_bytes are those behind it */
		needed -= DSFS_DATA_AT;
	result.fits = needed <= result.free_bytes;
	*ret = result;
	return 0;
}
