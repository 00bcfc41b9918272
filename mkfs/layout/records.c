/* SPDX-License-Identifier: MIT */
/* Appends to the arrays of the index. */
#include "layout/records.h"

#include "image/chunk.h"

int records_open(struct records *records, const struct temp *temp, uint32_t chunk_log, uint32_t sums,
		 const struct override *override, struct error *err)
{
	struct mapped *arrays[] = { &records->inodes, &records->chunks, &records->blob, &records->shared };
	int r;

	*records = (struct records){ 0 };
	r = sums_open(&records->sums, temp, chunk_log, sums, err);
	for (size_t i = 0; r == 0 && i < sizeof(arrays) / sizeof(arrays[0]); i++)
		r = mapped_open(arrays[i], temp, err);
	return r < 0 ? r : classes_open(&records->classes, override, temp, err);
}

void records_close(struct records *records)
{
	sums_close(&records->sums);
	mapped_close(&records->inodes);
	mapped_close(&records->chunks);
	mapped_close(&records->blob);
	mapped_close(&records->shared);
	classes_close(&records->classes);
}

uint64_t records_chunk_count(const struct records *records)
{
	return records->chunks.length / index_record_size(records->sums.kind);
}

const struct dsfs_chunk *records_chunk(const struct records *records, uint64_t number)
{
	return index_record_in(records->chunks.bytes, records->sums.kind, number);
}

int records_add_chunk(struct records *records, const struct dsfs_chunk *record, const uint8_t *block_sums,
		      struct error *err)
{
	uint32_t sums = records->sums.kind;
	struct chunk chunk = chunk_of_record(sums, record);
	uint64_t number = records_chunk_count(records);
	int r = 0;

	records->has_frames |= chunk.codec == DSFS_CODEC_ZSTD;
	if (block_sums && !chunk_is_hole(&chunk) && !chunk_is_inline(&chunk) && chunk.codec == DSFS_CODEC_RAW)
		r = sums_add(&records->sums, number, block_sums, sum_blocks_size(sums, chunk.stored), err);
	return r < 0 ? r : mapped_append(&records->chunks, record, index_record_size(sums), NULL, err);
}

int records_add_hole(struct records *records, struct error *err)
{
	struct dsfs_chunk_sha256 record = { 0 }; /* at least as long as it has to be */

	return records_add_chunk(records, &record.chunk, NULL, err);
}

int records_share(struct records *records, uint64_t number, struct error *err)
{
	int r = mapped_grow(&records->shared, number / 8 + 1, err);

	if (r == 0)
		records->shared.bytes[number / 8] |= (uint8_t)(1u << number % 8);
	return r;
}

bool records_is_shared(const struct records *records, uint64_t number)
{
	return number / 8 < records->shared.length && records->shared.bytes[number / 8] >> number % 8 & 1;
}

struct dsfs_inode *records_inode(const struct records *records, uint64_t ordinal)
{
	return (struct dsfs_inode *)records->inodes.bytes + (ordinal - 1);
}

static void records_set_time(struct records *records, const struct attributes *attributes, struct inode *inode)
{
	inode->mtime = attributes->mtime;
	inode->mtime_nsec = attributes->mtime_nsec;
	if (inode->mtime >= INODE_TIME_MIN && inode->mtime <= INODE_TIME_MAX)
		return;
	inode->mtime = inode->mtime < INODE_TIME_MIN ? INODE_TIME_MIN : INODE_TIME_MAX;
	inode->mtime_nsec = 0;
	records->clamped_times++;
}

int records_set_inode(struct records *records, const struct item *item, struct inode inode, struct error *err)
{
	uint32_t class;
	int r;

	r = classes_find(&records->classes, &records->blob, item, &class, err);
	if (r == 0)
		r = mapped_grow(&records->inodes, item->ordinal * sizeof(struct dsfs_inode), err);
	if (r < 0)
		return r;
	records_set_time(records, &item->attributes, &inode);
	inode_encode(&inode, class, records_inode(records, item->ordinal));
	return 0;
}

int records_add_meta(struct records *records, const struct meta *meta, struct error *err)
{
	struct dsfs_inode *root = records_inode(records, INODE_ROOT);
	uint32_t class = dsfs_le32_get(root->class);
	int r = meta->count ? classes_add_meta(&records->classes, &records->blob, class, meta, &class, err) : 0;

	root->class = dsfs_le32_of(class);
	return r;
}
