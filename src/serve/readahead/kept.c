/* SPDX-License-Identifier: MIT */
/* The cache is a hash table under one lock, behind a filter that tells without the lock that a file is not there. Bytes
 * are used outside the lock, while their batch is pinned. */
#include "serve/readahead/kept.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/round.h"
#include "datasetfs/format.h"
#include "read/op.h"

#define KEPT_CHAINS 4096u /* a power of two */

struct kept {
	pthread_mutex_t lock;
	uint64_t most;                      /* limit of bytes; under the lock */
	_Atomic uint64_t size;              /* memory of all batches, bytes; changes under the lock */
	struct kept_batch *first, **last;   /* batches that arrived, oldest first */
	uint64_t arrived_bytes;             /* of all batches that arrived since the start; under the lock */
	int64_t taken;                      /* when a READ last found a file, ns, monotonic; under the lock */
	struct hash_table files;            /* with KEPT_CHAINS chains */
	/* Number of files in each chain, on cache lines of their own: while nothing is kept, no thread writes them. */
	_Alignas(128) _Atomic uint16_t present[KEPT_CHAINS];
};

static unsigned kept_hash(uint64_t key, uint64_t ordinal)
{
	return (unsigned)((ordinal + hash_spread(key)) % KEPT_CHAINS);
}

int kept_new(uint64_t most, struct kept **ret, struct error *err)
{
	struct kept *kept = aligned_alloc(_Alignof(struct kept), sizeof(*kept));

	if (!kept)
		return error_no_memory(err);
	memset(kept, 0, sizeof(*kept));
	pthread_mutex_init(&kept->lock, NULL);
	kept->most = most;
	kept->last = &kept->first;
	if (hash_reserve(&kept->files, KEPT_CHAINS, NULL, err) < 0) {
		kept_free(kept);
		return -ENOMEM;
	}
	*ret = kept;
	return 0;
}

static void kept_free_batch(struct kept_batch *batch)
{
	free(batch->bytes);
	free(batch);
}

void kept_free(struct kept *kept)
{
	struct kept_batch *batch;

	if (!kept)
		return;
	while ((batch = kept->first)) {
		kept->first = batch->next;
		kept_free_batch(batch);
	}
	pthread_mutex_destroy(&kept->lock);
	hash_free(&kept->files);
	free(kept);
}

/* ---- functions whose caller holds the lock ---- */

static struct kept_file *kept_find(struct kept *kept, uint64_t key, uint64_t ordinal)
{
	struct hash_link *link = hash_first(&kept->files, kept_hash(key, ordinal));

	for (; link; link = link->next) {
		struct kept_file *file = (struct kept_file *)link;

		if (file->key == key && file->ordinal == ordinal)
			return file;
	}
	return NULL;
}

/* Adds to the memory that batches have; the two's complement subtracts. */
static void kept_count(struct kept *kept, struct kept_batch *batch, uint64_t memory)
{
	atomic_fetch_add_explicit(&kept->size, memory, memory_order_relaxed);
	if (batch->account)
		atomic_fetch_add_explicit(&batch->account->bytes, memory, memory_order_relaxed);
}

/* Gives up a use of a batch; the last one frees it. A batch that is freed before it arrived is in no list. */
static void kept_put(struct kept *kept, struct kept_batch *batch)
{
	struct kept_batch **link = &kept->first;

	if (--batch->uses)
		return;
	while (*link && *link != batch)
		link = &(*link)->next;
	if (*link) {
		*link = batch->next;
		if (kept->last == &batch->next)
			kept->last = link;
	}
	kept_count(kept, batch, -batch->memory);
	kept_free_batch(batch);
}

static void kept_take_out(struct kept *kept, struct kept_file *file)
{
	unsigned hash = kept_hash(file->key, file->ordinal);

	if (atomic_load(&file->state) == KEPT_OUT)
		return;
	hash_remove(&kept->files, hash, &file->link);
	atomic_store(&file->state, KEPT_OUT);
	atomic_fetch_sub_explicit(&kept->present[hash], 1, memory_order_relaxed);
	kept_put(kept, file->batch);
}

/* Takes all files of a batch out of the table; the caller has a use of the batch. Returns how many had arrived. */
static uint64_t kept_take_out_all(struct kept *kept, struct kept_batch *batch)
{
	uint64_t ready = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		ready += atomic_load(&batch->files[i].state) == KEPT_READY;
		kept_take_out(kept, &batch->files[i]);
	}
	return ready;
}

/* Drops a batch's files; the batch itself is freed with its last use. Returns how many files had arrived. */
static uint64_t kept_drop(struct kept *kept, struct kept_batch *batch)
{
	uint64_t dropped;

	batch->uses++;
	dropped = kept_take_out_all(kept, batch);
	kept_put(kept, batch);
	return dropped;
}

/* Drops the oldest batches until there is room for that much more memory. Returns how many files went unread. */
static uint64_t kept_make_room(struct kept *kept, uint64_t memory)
{
	struct kept_batch *first, *next;
	uint64_t dropped = 0;

	for (first = kept->first; first && atomic_load(&kept->size) + memory > kept->most; first = next) {
		next = first->next;
		dropped += kept_drop(kept, first);
	}
	return dropped;
}

/* ---- functions for READs ---- */

static enum kept_found kept_look(struct kept *kept, struct kept_file *file, const struct kept_range *range,
				 struct kept_waiter *waiter, struct kept_piece *ret)
{
	uint64_t left;

	if (range->offset >= file->size)
		return KEPT_NONE;
	if (atomic_load(&file->state) == KEPT_COMING) {
		if (!waiter)
			return KEPT_NONE;
		waiter->next = file->waiters;
		file->waiters = waiter;
		return KEPT_LATER;
	}
	left = file->size - range->offset;
	kept->taken = clock_now();
	file->batch->uses++;
	*ret = (struct kept_piece){ .bytes = file->batch->bytes + file->offset + range->offset,
				    .size = range->size < left ? range->size : left,
				    .file = file,
				    .is_last = range->size >= left };
	return KEPT_FOUND;
}

enum kept_found kept_take(struct kept *kept, const struct kept_range *range, struct kept_waiter *waiter,
			  struct kept_piece *ret)
{
	enum kept_found found = KEPT_NONE;
	struct kept_file *file;

	if (!atomic_load_explicit(&kept->present[kept_hash(range->key, range->ordinal)], memory_order_relaxed))
		return KEPT_NONE;
	pthread_mutex_lock(&kept->lock);
	file = kept_find(kept, range->key, range->ordinal);
	if (file)
		found = kept_look(kept, file, range, waiter, ret);
	pthread_mutex_unlock(&kept->lock);
	return found;
}

void kept_release(struct kept *kept, const struct kept_piece *piece)
{
	struct kept_batch *batch = piece->file->batch;

	pthread_mutex_lock(&kept->lock);
	if (piece->is_last)
		kept_take_out(kept, piece->file);
	kept_put(kept, batch);
	pthread_mutex_unlock(&kept->lock);
}

/* ---- functions for the thread that reads ahead ---- */

struct kept_batch *kept_begin(struct kept_account *account)
{
	struct kept_batch *batch = malloc(sizeof(*batch));

	if (!batch)
		return NULL;
	batch->bytes = NULL;
	batch->size = 0;
	batch->memory = 0;
	batch->account = account;
	batch->count = 0;
	batch->uses = 1;
	batch->next = NULL;
	return batch;
}

int kept_reserve(struct kept *kept, struct kept_batch *batch, uint64_t *ret_dropped)
{
	const struct kept_file *last = &batch->files[batch->count - 1];
	size_t size = round_up(last->offset + last->size, DSFS_BLOCK);
	uint64_t memory = size + sizeof(*batch);
	uint64_t dropped;

	pthread_mutex_lock(&kept->lock);
	dropped = kept_make_room(kept, memory);
	kept_count(kept, batch, memory);
	pthread_mutex_unlock(&kept->lock);
	batch->size = size;
	batch->memory = memory;
	batch->bytes = aligned_alloc(DSFS_BLOCK, size);
	*ret_dropped = dropped;
	return batch->bytes ? 0 : -ENOMEM;
}

/* If the file is in the table already, that copy stays there and the new one is not used. */
void kept_add(struct kept *kept, struct kept_batch *batch, uint64_t key, const struct inode *inode, bool is_marker)
{
	struct kept_file *file = &batch->files[batch->count];
	unsigned hash = kept_hash(key, inode->ordinal);
	bool is_there;

	assert(batch->count < KEPT_FILES);
	file->key = key;
	file->ordinal = inode->ordinal;
	file->offset = batch->count ? file[-1].offset + file[-1].size : 0;
	file->size = (uint32_t)inode->size;
	file->is_marker = is_marker;
	file->batch = batch;
	file->waiters = NULL;
	batch->count++;
	pthread_mutex_lock(&kept->lock);
	is_there = kept_find(kept, key, inode->ordinal);
	atomic_store(&file->state, is_there ? KEPT_OUT : KEPT_COMING);
	if (!is_there) {
		hash_add(&kept->files, hash, &file->link);
		batch->uses++;
		atomic_fetch_add_explicit(&kept->present[hash], 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&kept->lock);
}

/* Takes the waiters of all files of a batch. */
static struct kept_waiter *kept_waiters(struct kept_batch *batch)
{
	struct kept_waiter *all = NULL, *waiter;

	for (struct kept_file *file = batch->files; file < batch->files + batch->count; file++)
		while ((waiter = file->waiters)) {
			file->waiters = waiter->next;
			waiter->next = all;
			all = waiter;
		}
	return all;
}

static void kept_tell(struct kept_waiter *waiter)
{
	struct kept_waiter *next;

	for (; waiter; waiter = next) {
		next = waiter->next;
		waiter->arrived(waiter);
	}
}

void kept_arrive(struct kept *kept, struct kept_batch *batch)
{
	struct kept_waiter *waiters;

	pthread_mutex_lock(&kept->lock);
	for (struct kept_file *file = batch->files; file < batch->files + batch->count; file++)
		if (atomic_load(&file->state) == KEPT_COMING)
			atomic_store(&file->state, KEPT_READY);
	batch->arrived = clock_now();
	batch->arrived_bytes = kept->arrived_bytes += batch->memory;
	list_append(kept->last, batch, next);
	waiters = kept_waiters(batch);
	pthread_mutex_unlock(&kept->lock);
	kept_tell(waiters);
}

void kept_remove(struct kept *kept, struct kept_file *file)
{
	pthread_mutex_lock(&kept->lock);
	kept_take_out(kept, file);
	pthread_mutex_unlock(&kept->lock);
}

void kept_end(struct kept *kept, struct kept_batch *batch, bool is_bad)
{
	struct kept_waiter *waiters;

	pthread_mutex_lock(&kept->lock);
	if (is_bad)
		kept_take_out_all(kept, batch);
	waiters = kept_waiters(batch);
	kept_put(kept, batch);
	pthread_mutex_unlock(&kept->lock);
	kept_tell(waiters);
}

void kept_give_up(struct kept *kept, struct kept_batch *batch)
{
	struct kept_waiter *waiters;

	pthread_mutex_lock(&kept->lock);
	kept_take_out_all(kept, batch);
	waiters = kept_waiters(batch);
	pthread_mutex_unlock(&kept->lock);
	kept_tell(waiters);
}

struct kept_file *kept_pin(struct kept *kept, uint64_t key, uint64_t ordinal)
{
	struct kept_file *file;

	if (!atomic_load_explicit(&kept->present[kept_hash(key, ordinal)], memory_order_relaxed))
		return NULL;
	pthread_mutex_lock(&kept->lock);
	file = kept_find(kept, key, ordinal);
	if (file && atomic_load(&file->state) != KEPT_READY)
		file = NULL;
	if (file)
		file->batch->uses++;
	pthread_mutex_unlock(&kept->lock);
	return file;
}

void kept_unpin(struct kept *kept, struct kept_file *file)
{
	pthread_mutex_lock(&kept->lock);
	kept_put(kept, file->batch);
	pthread_mutex_unlock(&kept->lock);
}

static bool kept_is_orphan(const struct kept *kept, const struct kept_batch *batch, int64_t before)
{
	return kept->taken < before || kept->arrived_bytes - batch->arrived_bytes >= 2 * kept->most;
}

uint64_t kept_expire(struct kept *kept, int64_t before)
{
	struct kept_batch *batch, *next;
	struct kept_account *account;
	uint64_t dropped = 0, count;

	pthread_mutex_lock(&kept->lock);
	for (batch = kept->first; batch && batch->arrived < before; batch = next) {
		next = batch->next;
		account = batch->account;
		if (!kept_is_orphan(kept, batch, before))
			continue;
		count = kept_drop(kept, batch);
		dropped += count;
		if (account)
			atomic_fetch_add(&account->expired, count);
	}
	pthread_mutex_unlock(&kept->lock);
	return dropped;
}

uint64_t kept_limit(struct kept *kept, uint64_t most)
{
	uint64_t dropped;

	pthread_mutex_lock(&kept->lock);
	kept->most = most;
	dropped = kept_make_room(kept, 0);
	pthread_mutex_unlock(&kept->lock);
	return dropped;
}

uint64_t kept_bytes(const struct kept *kept)
{
	return atomic_load_explicit(&kept->size, memory_order_relaxed);
}
