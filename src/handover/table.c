/* SPDX-License-Identifier: MIT */
/* A header with the lengths of the parts that follow, in the machine's byte order, as both sides run on it. */
#include "handover/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory_file.h"
#include "base/round.h"
#include "base/span.h"
#include "image/members/members_table.h"

#define TABLE_MAGIC UINT32_C(0x54534644) /* "DFST" */
#define TABLE_MOST  (UINT64_C(1) << 34)  /* bytes */

/* Later releases add parts after the last one. */
struct table_head {
	uint32_t magic, segment_log;
	uint64_t first_size; /* of member 0 */
	uint8_t first_uuid[16];
	uint64_t member_count;  /* length of the array of missing_from, uint64_t each */
	uint64_t extent_count;  /* length of the array of struct extent of the block checksums */
	uint64_t sums_length;   /* of the block checksums; 0: none */
	uint64_t head_length;   /* the part of sums_length that is in memory */
	uint64_t table_length;
};

/* Offsets of the parts in the file. */
struct table_parts {
	uint64_t missing, extents, head, table, length;
};

/* Computes the offsets. False: the counts are too large. */
static bool table_parts(const struct table_head *head, struct table_parts *ret)
{
	if (head->member_count > DSFS_MEMBER_MAX + 1 || head->extent_count > TABLE_MOST / sizeof(struct extent) ||
	    head->head_length > TABLE_MOST || head->table_length > TABLE_MOST)
		return false;
	ret->missing = sizeof(*head);
	ret->extents = ret->missing + head->member_count * sizeof(uint64_t);
	ret->head = ret->extents + head->extent_count * sizeof(struct extent);
	ret->table = ret->head + round_up(head->head_length, sizeof(uint64_t));
	ret->length = ret->table + head->table_length;
	return ret->length <= TABLE_MOST;
}

/* --- writing --- */

static void table_fill(const struct table_head *head, const struct members *members, const struct version *version,
		       const struct block_sums *block_sums, const uint8_t *missing, uint8_t *to)
{
	const struct extent_list *extents = &version->block_sums.extents;
	struct table_parts parts = { 0 };
	uint64_t from, length;

	(void)table_parts(head, &parts);
	memcpy(to, head, sizeof(*head));
	for (uint32_t i = 0; i < members->count; i++) {
		from = missing[i / 8] >> i % 8 & 1 ? 1 :
			       __atomic_load_n(&members->list[i].missing_from, __ATOMIC_ACQUIRE);
		memcpy(to + parts.missing + i * sizeof(from), &from, sizeof(from));
	}
	if (head->extent_count)
		memcpy(to + parts.extents, extents->items, head->extent_count * sizeof(*extents->items));
	if (head->head_length)
		memcpy(to + parts.head, block_sums_head(block_sums, &length), head->head_length);
	members_table_encode(members, to + parts.table);
}

int table_write(const struct members *members, const struct version *version, const struct block_sums *block_sums,
		const uint8_t *missing, int *ret_fd, struct error *err)
{
	auto_close int fd = -1;
	struct table_head head = { .magic = TABLE_MAGIC, .segment_log = members->segment_log,
				   .first_size = members->list[0].size, .member_count = members->count,
				   .table_length = members_table_length(members) };
	struct table_parts parts;
	uint8_t *to;
	int r;

	memcpy(head.first_uuid, members->list[0].uuid, sizeof(head.first_uuid));
	if (block_sums) {
		head.extent_count = version->block_sums.extents.count;
		head.sums_length = version->block_sums.length;
		(void)block_sums_head(block_sums, &head.head_length);
	}
	if (!table_parts(&head, &parts))
		return error_set(err, -EFBIG, "the members' table and block checksums are too long to hand over");
	r = memory_file_make("datasetfs-members", parts.length, &fd, err);
	if (r < 0)
		return error_wrap(err, r, "the members' table");
	to = mmap(NULL, parts.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to == MAP_FAILED)
		return error_errno(err, "cannot map the members' table");
	table_fill(&head, members, version, block_sums, missing, to);
	munmap(to, parts.length);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- reading --- */

/* The file while it is read. */
struct table_view {
	struct span bytes;
	struct table_head head;
	struct table_parts parts;
};

/* Checks the table like a catalogue's, with sequence checks disabled because there is no superblock here. */
static int table_read_members(const struct table_view *file, struct members *ret, struct error *err)
{
	const struct table_head *head = &file->head;
	struct span table = { file->bytes.base + file->parts.table, head->table_length };
	struct superblock super = { .sequence = UINT64_MAX, .member_size = head->first_size,
				    .member_count = (uint32_t)head->member_count, .segment_log = head->segment_log };
	int r;

	if (head->segment_log < DSFS_SEGMENT_LOG_MIN || head->segment_log > DSFS_SEGMENT_LOG_MAX)
		return error_set(err, -EPROTO, "segments of 2^%" PRIu32 " bytes", head->segment_log);
	memcpy(super.member_uuid, head->first_uuid, sizeof(super.member_uuid));
	r = members_table_decode(table, &super, ret, err);
	for (uint32_t i = 0; r == 0 && i < ret->count; i++)
		memcpy(&ret->list[i].missing_from, file->bytes.base + file->parts.missing + i * sizeof(uint64_t),
		       sizeof(uint64_t));
	return r;
}

static int table_read_extents(const struct table_view *file, const struct members *members, struct extent_list *ret,
			      struct error *err)
{
	const struct table_head *head = &file->head;
	struct extent extent;
	uint64_t total = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < head->extent_count; i++) {
		memcpy(&extent, file->bytes.base + file->parts.extents + i * sizeof(extent), sizeof(extent));
		if (!members_in_column(members, extent.address, extent.length))
			return error_set(err, -EPROTO, "block checksums at %#" PRIx64 " lie in no group",
					 extent.address);
		total += extent.length;
		r = extent_list_add_in(ret, extent.address, extent.length, UINT64_C(1) << head->segment_log, err);
	}
	if (r == 0 && total != head->sums_length)
		return error_set(err, -EPROTO, "block checksums of %" PRIu64 " bytes in %" PRIu64, head->sums_length,
				 total);
	return r;
}

static int table_read_head(const struct table_view *file, const struct version *version, struct block_sums **ret,
			   struct error *err)
{
	uint64_t length = file->head.head_length;
	auto_free uint8_t *bytes = aligned_alloc(DSFS_BLOCK, round_up(length + 1, DSFS_BLOCK));
	int r;

	if (!bytes)
		return error_no_memory(err);
	memcpy(bytes, file->bytes.base + file->parts.head, length);
	r = block_sums_open(bytes, length, version, ret, err);
	if (r == 0)
		(void)take_ptr(&bytes);
	return r;
}

static int table_read_sums(const struct table_view *file, const struct members *members, struct version *version,
			   struct block_sums **ret, struct error *err)
{
	int r;

	*ret = NULL;
	if (!file->head.sums_length)
		return 0;
	r = table_read_extents(file, members, &version->block_sums.extents, err);
	version->block_sums.length = file->head.sums_length;
	return r < 0 ? r : table_read_head(file, version, ret, err);
}

static int table_check(struct span bytes, uint32_t count, struct table_view *ret, struct error *err)
{
	const struct table_head *head = span_at(bytes, 0, sizeof(*head));

	if (!head || head->magic != TABLE_MAGIC || !table_parts(head, &ret->parts) || ret->parts.length > bytes.size)
		return error_set(err, -EPROTO, "%" PRIu64 " bytes that are no table of members", bytes.size);
	if (head->member_count != count)
		return error_set(err, -EPROTO, "a table of %" PRIu64 " members, the version has %" PRIu32,
				 head->member_count, count);
	ret->bytes = bytes;
	ret->head = *head;
	return 0;
}

static int table_read_all(struct span bytes, uint32_t count, struct version *version, struct members *ret,
			  struct block_sums **ret_block_sums, struct error *err)
{
	struct members members = { .count = 0 };
	struct table_view file = { .bytes = bytes };
	int r = table_check(bytes, count, &file, err);

	if (r == 0)
		r = table_read_members(&file, &members, err);
	if (r == 0)
		r = table_read_sums(&file, &members, version, ret_block_sums, err);
	if (r < 0) {
		members_free(&members);
		return r;
	}
	*ret = members;
	return 0;
}

int table_read(int fd, uint32_t count, struct version *version, struct members *ret,
	       struct block_sums **ret_block_sums, struct error *err)
{
	auto_free uint8_t *bytes = NULL;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > TABLE_MOST)
		return error_set(err, -EPROTO, "what should be the table of members is no file, or too long");
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return error_no_memory(err);
	n = pread(fd, bytes, (size_t)st.st_size, 0);
	if (n < 0)
		return error_errno(err, "the table of members");
	return table_read_all((struct span){ bytes, (uint64_t)n }, count, version, ret, ret_block_sums, err);
}
