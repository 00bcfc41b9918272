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
#include "read/op.h"
#include "read/run.h"

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

/* Finds where a file lies that may be joined with others: it is read whole, fits in a read, lies on the volume in one
 * piece, and the caller may read it. */
static bool plan_find(const struct direct *direct, struct permission *permission, const struct dsfs_read *read,
		      struct plan_key *ret, struct inode *ret_inode)
{
	struct run_place place;

	if (read->offset || lib_check_id(&direct->opened, read->id, NULL) < 0 ||
	    inode_get(direct->version.index, read->id & PLAN_ORDINAL, ret_inode, NULL) < 0 ||
	    !S_ISREG(ret_inode->mode) || ret_inode->size > read->size ||
	    ret_inode->size > (read->buffer ? PLAN_COPIED : READ_MAX) ||
	    permission_check(permission, ret_inode, PERMISSION_READ, NULL) < 0)
		return false;
	place = run_find(direct->version.index, ret_inode);
	ret->address = place.address;
	ret->size = ret_inode->size;
	ret->chunk_count = (uint32_t)place.count;
	return place.count && place.count == inode_chunk_count(direct->version.index, ret_inode);
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

/* --- joins --- */

/* Room for the chunks of the files. */
static bool plan_make_chunks(struct plan *plan, const struct plan_key *keys, size_t count)
{
	size_t chunks = 0;

	for (size_t i = 0; i < count; i++)
		chunks += keys[i].chunk_count;
	if (chunks > UINT32_MAX)
		return false;
	plan->chunks = calloc(chunks + 1, sizeof(*plan->chunks));
	plan->places = calloc(chunks + 1, sizeof(*plan->places));
	return plan->chunks && plan->places;
}

/* Adds a file to those that are read as one; false: the read has no room for it, or the index has changed. */
static bool plan_add(struct plan *plan, struct run *run, const struct plan_key *key, size_t number)
{
	uint32_t chunk = (uint32_t)(run->chunks - plan->chunks) + run->count;
	uint8_t *place = key->read->buffer;
	struct inode inode;

	if (inode_get(run->index, key->read->id & PLAN_ORDINAL, &inode, NULL) < 0 || inode.size != key->size ||
	    !run_add_file(run, &inode))
		return false;
	plan->files[number] = (struct plan_file){ key->read, chunk, key->chunk_count };
	for (uint32_t i = chunk; place && i < chunk + key->chunk_count; i++) {
		plan->places[i] = place;
		place += plan->chunks[i].length;
	}
	return true;
}

/* Whether the file, which lies behind the others, can be read with them. It cannot where files share chunks, nor if one
 * has a buffer and the other none. */
static bool plan_follows(const struct run *run, const struct plan_key *key)
{
	return !key->read->buffer == !key[-1].read->buffer && key->address >= run->end &&
	       key->address - run->end <= run->gap;
}

static void plan_add_join(struct plan *plan, size_t first, size_t end)
{
	const struct plan_file *file = &plan->files[first], *last = &plan->files[end - 1];
	struct plan_join *join = &plan->joins[plan->join_count++];

	*join = (struct plan_join){ .first = (uint32_t)first,
				    .count = (uint32_t)(end - first),
				    .chunk = file->chunk,
				    .chunk_count = last->chunk + last->chunk_count - file->chunk,
				    .has_buffers = file->read->buffer,
				    .is_spread = !file->read->buffer };
	for (uint32_t i = join->chunk; i < join->chunk + join->chunk_count; i++) {
		join->bytes += plan->chunks[i].length;
		join->is_spread &= plan->chunks[i].codec == DSFS_CODEC_RAW;
	}
}

/* Joins the files of the keys, but for those that would all come from the cache. False: the index has changed. */
static bool plan_join(const struct index *index, struct plan *plan, const struct cached *cached,
		      const struct plan_key *keys, size_t count)
{
	struct run run = { .chunks = plan->chunks };
	int64_t now = clock_now();
	size_t end, step;

	for (size_t i = 0; i < count;) {
		run = (struct run){ .index = index, .chunks = run.chunks + run.count, .gap = PLAN_GAP };
		end = i;
		while (end < count && (end == i || plan_follows(&run, &keys[end])) &&
		       plan_add(plan, &run, &keys[end], end))
			end++;
		if (end == i)
			return false;
		step = end - i;
		if (step > 1 && cached && cached_has(cached, run.chunks, run.count, now))
			step = 1;
		for (; i < end; i += step)
			plan_add_join(plan, i, i + step);
	}
	return true;
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
	if (!plan_make_chunks(plan, keys, found) || !plan_join(direct->version.index, plan, cached, keys, found))
		goto failed;
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
