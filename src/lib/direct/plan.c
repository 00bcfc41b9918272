/* SPDX-License-Identifier: MIT */
/* Files lie on the volume in the order of their ids, or in a random one, and small files in gaps between earlier ones:
 * so only the addresses tell which are neighbours. */
#include "lib/direct/plan.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "read/cached.h"
#include "read/gather.h"
#include "read/op.h"

#define PLAN_NEAR_IDS   64u       /* directories and links have ids, too */
#define PLAN_NEAR_BYTES READ_MAX

struct plan_key {
	uint64_t address; /* of the file's first chunk */
	uint64_t size;
	size_t number; /* of the read among those that waited */
	struct dsfs_read *read;
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
	if (read->offset || lib_check_id(&direct->opened, read->id, NULL) < 0 ||
	    inode_get(direct->version.index, read->id & PLAN_ORDINAL, ret_inode, NULL) < 0 ||
	    !S_ISREG(ret_inode->mode) || ret_inode->size > read->size ||
	    ret_inode->size > (read->buffer ? PLAN_COPIED : READ_MAX) ||
	    permission_check(permission, ret_inode, PERMISSION_READ, NULL) < 0)
		return false;
	ret->size = ret_inode->size;
	ret->chunk_count = (uint32_t)inode_chunk_count(direct->version.index, ret_inode);
	return plan_is_run(direct->version.index, ret_inode, ret->chunk_count, &ret->address);
}

/* --- whether a plan is worth its look-ups --- */

/* Files of a walk lie on all members in turn, so addresses of neighbours are near only where the order is random. */
static bool plan_is_near(const struct direct *direct, struct permission *permission, const struct fifo *todo,
			 size_t first)
{
	const struct dsfs_read *one = fifo_peek(todo, first), *other = fifo_peek(todo, first + 1);
	struct plan_key a, b;
	struct inode inode;

	if (other->id > one->id && other->id - one->id <= PLAN_NEAR_IDS)
		return true;
	if (!plan_find(direct, permission, one, &a, &inode) || !plan_find(direct, permission, other, &b, &inode))
		return false;
	return (a.address > b.address ? a.address - b.address : b.address - a.address) <= PLAN_NEAR_BYTES;
}

static bool plan_is_worth(const struct direct *direct, struct permission *permission, const struct fifo *todo,
			  size_t count)
{
	return count > 1 && (plan_is_near(direct, permission, todo, 0) ||
			     plan_is_near(direct, permission, todo, (count - 2) / 2) ||
			     plan_is_near(direct, permission, todo, count - 2));
}

/* --- the order of places --- */

/* Reads with buffers come first, as they are not joined with others. */
static int plan_compare_keys(const void *a, const void *b)
{
	const struct plan_key *x = a, *y = b;

	if (!x->read->buffer != !y->read->buffer)
		return x->read->buffer ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Finds the keys of the plan's reads that may be joined; the others become joins of one, at the end of its files. */
static size_t plan_look_up(const struct direct *direct, struct permission *permission, const struct fifo *todo,
			   struct plan *plan, struct plan_key *keys)
{
	size_t found = 0, alone = plan->read_count;
	struct inode inode;

	for (size_t i = 0; i < plan->read_count; i++) {
		keys[found].number = i;
		keys[found].read = fifo_peek(todo, i);
		plan_expect(direct->version.index, fifo_peek(todo, i + 2 * PLAN_AHEAD),
			    fifo_peek(todo, i + PLAN_AHEAD));
		if (plan_find(direct, permission, keys[found].read, &keys[found], &inode)) {
			found++;
			continue;
		}
		plan->files[--alone].read = fifo_peek(todo, i);
		plan->joins[plan->join_count++] = (struct plan_join){ .first = (uint32_t)alone, .count = 1 };
	}
	qsort(keys, found, sizeof(*keys), plan_compare_keys);
	return found;
}

/* Gets a file's chunks, which begin where the plan's file says, and their places. */
static bool plan_get_file(const struct index *index, struct plan *plan, const struct plan_file *file, uint64_t size)
{
	uint8_t *place = file->read->buffer;
	struct inode inode;

	if (inode_get(index, file->read->id & PLAN_ORDINAL, &inode, NULL) < 0 || inode.size != size)
		return false;
	for (uint32_t i = 0; i < file->chunk_count; i++) {
		struct chunk *chunk = &plan->chunks[file->chunk + i];

		if (chunk_get(index, &inode, i, chunk, NULL) < 0)
			return false;
		plan->places[file->chunk + i] = place;
		if (place)
			place += chunk->length;
	}
	return true;
}

/* Gets the chunks of the files, in the order of the keys. False: no memory, or the index is not what it was. */
static bool plan_get_chunks(const struct index *index, struct plan *plan, const struct plan_key *keys, size_t count)
{
	size_t chunks = 0;

	for (size_t i = 0; i < count; i++)
		chunks += keys[i].chunk_count;
	if (chunks > UINT32_MAX)
		return false;
	plan->chunks = calloc(chunks + 1, sizeof(*plan->chunks));
	plan->places = calloc(chunks + 1, sizeof(*plan->places));
	if (!plan->chunks || !plan->places)
		return false;
	chunks = 0;
	for (size_t i = 0; i < count; i++) {
		plan->files[i] = (struct plan_file){ keys[i].read, (uint32_t)chunks, keys[i].chunk_count };
		if (!plan_get_file(index, plan, &plan->files[i], keys[i].size))
			return false;
		chunks += keys[i].chunk_count;
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

/* Whether the file, which lies behind the others, can be read with them. It cannot where files share chunks, nor if one
 * has a buffer and the other none. */
static bool plan_joins(struct gather *gather, const struct plan *plan, const struct plan_file *file)
{
	uint64_t address = plan->chunks[file->chunk].address;

	return !file->read->buffer == !file[-1].read->buffer && address >= gather->end &&
	       address - gather->end <= PLAN_GAP && plan_gather(gather, plan, file);
}

static bool plan_is_raw(const struct plan *plan, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		if (plan->chunks[i].codec != DSFS_CODEC_RAW)
			return false;
	return true;
}

/* Returns the end of the files that are read with the first one of them; *ret: all of them together. */
static size_t plan_find_end(const struct plan *plan, size_t first, size_t count, struct gather *ret)
{
	size_t end = first + 1;

	*ret = (struct gather){ .gap = PLAN_GAP };
	if (plan_gather(ret, plan, &plan->files[first]))
		while (end < count && plan_joins(ret, plan, &plan->files[end]))
			end++;
	return end;
}

static void plan_add_join(struct plan *plan, size_t first, size_t end, const struct gather *gather)
{
	const struct plan_file *file = &plan->files[first];
	bool has_buffers = file->read->buffer;

	plan->joins[plan->join_count++] =
		(struct plan_join){ .first = (uint32_t)first,
				    .count = (uint32_t)(end - first),
				    .chunk = file->chunk,
				    .chunk_count = gather->count,
				    .bytes = gather->content,
				    .has_buffers = has_buffers,
				    .is_spread = !has_buffers && plan_is_raw(plan, file->chunk, gather->count) };
}

static bool plan_is_cached(const struct plan *plan, const struct cached *cached, size_t first, size_t end, int64_t now)
{
	const struct plan_file *file = &plan->files[first], *last = &plan->files[end - 1];

	return cached && cached_has(cached, &plan->chunks[file->chunk], last->chunk + last->chunk_count - file->chunk,
				    now);
}

/* Joins count files, but for those that would all come from the cache. */
static void plan_join(struct plan *plan, const struct cached *cached, size_t count)
{
	int64_t now = clock_now();
	struct gather gather;
	size_t end, alone;

	for (size_t i = 0; i < count; i = end) {
		end = plan_find_end(plan, i, count, &gather);
		if (end == i + 1 || !plan_is_cached(plan, cached, i, end, now)) {
			plan_add_join(plan, i, end, &gather);
			continue;
		}
		for (alone = i; alone < end; alone++) {
			(void)plan_find_end(plan, alone, alone + 1, &gather);
			plan_add_join(plan, alone, alone + 1, &gather);
		}
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

/* An empty plan with room for so many reads; NULL: no memory. */
static struct plan *plan_new(size_t count)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return NULL;
	plan->uses = 1;
	plan->read_count = count;
	plan->files = calloc(count, sizeof(*plan->files));
	plan->joins = calloc(count, sizeof(*plan->joins));
	if (plan->files && plan->joins)
		return plan;
	plan_put(plan);
	return NULL;
}

bool plan_make(const struct direct *direct, const struct cached *cached, struct permission *permission,
	       struct fifo *todo, struct plan **ret)
{
	size_t count = todo->count < PLAN_MOST ? todo->count : PLAN_MOST, found;
	auto_free struct plan_key *keys = NULL;
	struct plan *plan;

	if (!plan_is_worth(direct, permission, todo, count))
		return false;
	keys = calloc(count, sizeof(*keys));
	plan = plan_new(count);
	if (!keys || !plan)
		goto failed;
	found = plan_look_up(direct, permission, todo, plan, keys);
	if (!plan_get_chunks(direct->version.index, plan, keys, found))
		goto failed;
	plan_join(plan, cached, found);
	qsort_r(plan->joins, plan->join_count, sizeof(*plan->joins), plan_compare_joins, plan);
	for (size_t i = 0; i < count; i++)
		fifo_take(todo);
	*ret = plan;
	return true;
failed:
	plan_put(plan);
	return false;
}

struct plan *plan_use(struct plan *plan)
{
	plan->uses++;
	return plan;
}

void plan_put(struct plan *plan)
{
	if (!plan || --plan->uses)
		return;
	free(plan->files);
	free(plan->chunks);
	free(plan->places);
	free(plan->joins);
	free(plan);
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

bool plan_has(const struct plan *plan, const struct plan_file *file, const struct chunk *chunk)
{
	uint32_t i = 0;

	while (i < file->chunk_count && plan->chunks[file->chunk + i].address != chunk->address)
		i++;
	return i < file->chunk_count;
}

/* --- taking reads --- */

bool plan_is_over(const struct plan *plan)
{
	return plan->next == plan->join_count;
}

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
