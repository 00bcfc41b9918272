/* SPDX-License-Identifier: MIT */
/* Files lie on the volume in the order of their ids, or in a random one, and small files in gaps between earlier ones:
 * so only the addresses tell which are neighbours. */
#include "lib/direct/plan.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "read/gather.h"
#include "read/op.h"

#define PLAN_NEAR_IDS   64u       /* directories and links have ids, too */
#define PLAN_NEAR_BYTES READ_MAX
#define PLAN_ORDINAL    ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1)

struct plan_key {
	uint64_t address; /* of the file's first chunk */
	uint64_t size;
	size_t number; /* of the read in the call */
	uint32_t chunk_count;
};

void plan_expect(const struct index *index, const struct dsfs_read *later, const struct dsfs_read *soon)
{
	if (later)
		inode_expect(index, later->id & PLAN_ORDINAL);
	if (soon)
		inode_expect_chunk(index, soon->id & PLAN_ORDINAL);
}

/* Whether the chunks lie one behind the other on a member, without holes. */
static bool plan_is_run(const struct index *index, const struct inode *inode, uint64_t count, uint64_t *ret_address)
{
	struct chunk chunk;
	uint64_t end = 0;

	for (uint64_t i = 0; i < count; i++) {
		if (chunk_get(index, inode, i, &chunk, NULL) < 0 || chunk_is_hole(&chunk) || chunk_is_inline(&chunk) ||
		    (i && chunk.address != end))
			return false;
		if (i == 0)
			*ret_address = chunk.address;
		end = chunk.address + chunk.stored;
	}
	return count;
}

/* Finds where a file lies that may be joined with others: it is read whole, fits in a read, lies on the volume in one
 * piece, and the caller may read it. */
static bool plan_find(const struct direct *direct, struct permission *permission, const struct dsfs_read *read,
		      struct plan_key *ret, struct inode *ret_inode)
{
	if (read->buffer || read->offset || lib_check_id(&direct->opened, read->id, NULL) < 0 ||
	    inode_get(direct->index, read->id & PLAN_ORDINAL, ret_inode, NULL) < 0 || !S_ISREG(ret_inode->mode) ||
	    ret_inode->size > read->size || ret_inode->size > READ_MAX ||
	    permission_check(permission, ret_inode, PERMISSION_READ, NULL) < 0)
		return false;
	ret->size = ret_inode->size;
	ret->chunk_count = (uint32_t)inode_chunk_count(direct->index, ret_inode);
	return plan_is_run(direct->index, ret_inode, ret->chunk_count, &ret->address);
}

/* --- whether a plan is worth its look-ups --- */

/* Files of a walk lie on all members in turn, so addresses of neighbours are near only where the order is random. */
static bool plan_is_near(const struct direct *direct, struct permission *permission, const struct dsfs_read *pair)
{
	struct plan_key a, b;
	struct inode inode;

	if (pair[1].id > pair[0].id && pair[1].id - pair[0].id <= PLAN_NEAR_IDS)
		return true;
	if (!plan_find(direct, permission, &pair[0], &a, &inode) ||
	    !plan_find(direct, permission, &pair[1], &b, &inode))
		return false;
	return (a.address > b.address ? a.address - b.address : b.address - a.address) <= PLAN_NEAR_BYTES;
}

static bool plan_is_worth(const struct direct *direct, struct permission *permission, const struct dsfs_read *reads,
			  size_t count)
{
	return count > 1 && (plan_is_near(direct, permission, reads) ||
			     plan_is_near(direct, permission, reads + (count - 2) / 2) ||
			     plan_is_near(direct, permission, reads + count - 2));
}

/* --- the order of places --- */

static int plan_compare_keys(const void *a, const void *b)
{
	const struct plan_key *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Finds the keys of the reads that may be joined; the others become joins of one, at the end of the plan's files. */
static size_t plan_look_up(const struct direct *direct, struct permission *permission, struct dsfs_read *reads,
			   size_t count, struct plan *plan, struct plan_key *keys)
{
	size_t found = 0, alone = count;
	struct inode inode;

	for (size_t i = 0; i < count; i++) {
		plan_expect(direct->index, i + 2 * PLAN_AHEAD < count ? &reads[i + 2 * PLAN_AHEAD] : NULL,
			    i + PLAN_AHEAD < count ? &reads[i + PLAN_AHEAD] : NULL);
		if (plan_find(direct, permission, &reads[i], &keys[found], &inode)) {
			keys[found++].number = i;
			continue;
		}
		plan->files[--alone].read = &reads[i];
		plan->joins[plan->join_count++] = (struct plan_join){ .first = (uint32_t)alone, .count = 1 };
	}
	qsort(keys, found, sizeof(*keys), plan_compare_keys);
	return found;
}

/* Gets the chunks of the files, in the order of the keys. False: no memory, or the index is not what it was. */
static bool plan_get_chunks(const struct index *index, struct plan *plan, struct dsfs_read *reads,
			    const struct plan_key *keys, size_t count)
{
	struct inode inode;
	size_t chunks = 0;

	for (size_t i = 0; i < count; i++)
		chunks += keys[i].chunk_count;
	plan->chunks = chunks <= UINT32_MAX ? calloc(chunks + 1, sizeof(*plan->chunks)) : NULL;
	if (!plan->chunks)
		return false;
	chunks = 0;
	for (size_t i = 0; i < count; i++) {
		struct dsfs_read *read = &reads[keys[i].number];

		plan->files[i] = (struct plan_file){ read, (uint32_t)chunks, keys[i].chunk_count };
		if (inode_get(index, read->id & PLAN_ORDINAL, &inode, NULL) < 0)
			return false;
		for (uint32_t j = 0; j < keys[i].chunk_count; j++)
			if (chunk_get(index, &inode, j, &plan->chunks[chunks++], NULL) < 0)
				return false;
	}
	return true;
}

/* --- joins --- */

/* Adds the chunks of a file to those of a read; false: the read has no room for them all. */
static bool plan_gather(struct gather *gather, const struct plan *plan, const struct plan_file *file)
{
	struct gather sum = *gather;

	for (uint32_t i = 0; i < file->chunk_count; i++)
		if (!gather_add(&sum, &plan->chunks[file->chunk + i]))
			return false;
	*gather = sum;
	return true;
}

/* Whether the file, which lies behind the others, can be read with them. It cannot where files share chunks. */
static bool plan_joins(struct gather *gather, const struct plan *plan, const struct plan_file *file)
{
	uint64_t address = plan->chunks[file->chunk].address;

	return address >= gather->end && address - gather->end <= PLAN_GAP && plan_gather(gather, plan, file);
}

static bool plan_is_raw(const struct plan *plan, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		if (plan->chunks[i].codec != DSFS_CODEC_RAW)
			return false;
	return true;
}

/* Joins count files. */
static void plan_join(struct plan *plan, size_t count)
{
	struct gather gather;
	size_t end;

	for (size_t i = 0; i < count; i = end) {
		gather = (struct gather){ .gap = PLAN_GAP };
		end = i + 1;
		if (plan_gather(&gather, plan, &plan->files[i]))
			while (end < count && plan_joins(&gather, plan, &plan->files[end]))
				end++;
		plan->joins[plan->join_count++] =
			(struct plan_join){ (uint32_t)i, (uint32_t)(end - i), plan->files[i].chunk, gather.count,
					    gather.content,
					    plan_is_raw(plan, plan->files[i].chunk, gather.count) };
	}
}

static uint64_t plan_offset(const struct plan *plan, const struct plan_join *join)
{
	const struct plan_file *file = &plan->files[join->first];

	return file->chunk_count ? address_offset(plan->chunks[file->chunk].address) : 0;
}

static int plan_compare_joins(const void *a, const void *b, void *plan)
{
	uint64_t x = plan_offset(plan, a), y = plan_offset(plan, b);

	return x < y ? -1 : x > y;
}

bool plan_make(const struct direct *direct, struct permission *permission, struct dsfs_read *reads, size_t count,
	       struct plan *ret)
{
	auto_free struct plan_key *keys = NULL;
	struct plan plan = { 0 };
	size_t found;

	if (count > UINT32_MAX || !plan_is_worth(direct, permission, reads, count))
		return false;
	keys = calloc(count, sizeof(*keys));
	plan.files = calloc(count, sizeof(*plan.files));
	plan.joins = calloc(count, sizeof(*plan.joins));
	if (!keys || !plan.files || !plan.joins)
		goto failed;
	found = plan_look_up(direct, permission, reads, count, &plan, keys);
	if (!plan_get_chunks(direct->index, &plan, reads, keys, found))
		goto failed;
	plan_join(&plan, found);
	qsort_r(plan.joins, plan.join_count, sizeof(*plan.joins), plan_compare_joins, &plan);
	*ret = plan;
	return true;
failed:
	plan_free(&plan);
	return false;
}

void plan_free(struct plan *plan)
{
	free(plan->files);
	free(plan->chunks);
	free(plan->joins);
	*plan = (struct plan){ 0 };
}

uint64_t plan_bytes(const struct plan *plan, const struct plan_file *file)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < file->chunk_count; i++)
		bytes += plan->chunks[file->chunk + i].length;
	return bytes;
}

uint64_t plan_span(const struct plan *plan, const struct plan_join *join)
{
	const struct chunk *first = &plan->chunks[join->chunk], *last = first + join->chunk_count - 1;

	return last->address + last->stored - first->address;
}

/* --- taking reads --- */

struct plan_join *plan_peek(const struct plan *plan)
{
	struct plan_join *join = plan->next < plan->join_count ? &plan->joins[plan->next] : NULL;

	return join && join->count > 1 ? join : NULL;
}

struct dsfs_read *plan_take(struct plan *plan)
{
	struct plan_join *join = &plan->joins[plan->next];

	if (plan->next == plan->join_count)
		return NULL;
	if (--join->count == 0)
		plan->next++;
	return plan->files[join->first++].read;
}
