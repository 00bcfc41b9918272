/* SPDX-License-Identifier: MIT */
/* A few streams; the one that was used least recently makes room. Ranges are read by any thread and change under the
 * lock, which nobody waits for: who does not get it comes again with the walker's next READ. */
#include "serve/ahead/streams.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "image/address.h"
#include "serve/ahead/fetcher.h"
#include "serve/ahead/gather.h"
#include "serve/ahead/walk.h"
#include "serve/version/generation.h"

#define STREAMS      8u
#define STREAM_LEGS  64u
#define STREAM_FIRST (UINT64_C(512) << 10) /* bytes ahead of a walker at first; doubles with each leg */
#define STREAM_LEG   (UINT64_C(256) << 10) /* of a leg at least, */
#define STREAM_LEG_MOST (UINT64_C(1) << 20) /* and at most: one device read of each member */
#define STREAM_QUARTER 4u                  /* legs in a window, at least */
#define STREAM_SCAN  4096u                 /* ordinals that are looked at for a leg */
#define STREAM_LIVE  INT64_C(2000000000)   /* ns since its last READ: it shares the budget */

static_assert(KEPT_FILES <= GATHER_FILES, "a leg is one job");

/* What one job brings. */
struct stream_leg {
	uint64_t first; /* its first file, */
	uint64_t bytes; /* of all, in whole blocks, as they lie on the volume */
};

/* Under the lock. */
struct stream {
	uint64_t window;  /* bytes ahead */
	uint64_t next;    /* the first ordinal that is in no leg, but for those that are taken */
	struct gather_taken taken; /* behind next, files of legs */
	int64_t used;     /* ns, monotonic */
	struct stream_leg legs[STREAM_LEGS]; /* that the walker is not through with, from the one that he is in */
	unsigned count;
};

struct streams {
	/* Of stream i: written under the lock, read by any thread. */
	_Atomic uint64_t keys[STREAMS]; /* 0: none */
	_Atomic uint64_t from[STREAMS], to[STREAMS]; /* ordinals; to: the first that is not in it */
	_Atomic uint64_t at[STREAMS];    /* where the walker is */
	_Atomic uint64_t marks[STREAMS]; /* a READ from here on moves it */
	_Alignas(128) pthread_mutex_t lock;
	struct fetcher *fetcher;
	struct stream stream[STREAMS];
};

int streams_new(struct fetcher *fetcher, struct streams **ret, struct error *err)
{
	struct streams *streams = aligned_alloc(_Alignof(struct streams), sizeof(*streams));

	if (!streams)
		return error_no_memory(err);
	memset(streams, 0, sizeof(*streams));
	pthread_mutex_init(&streams->lock, NULL);
	streams->fetcher = fetcher;
	*ret = streams;
	return 0;
}

void streams_free(struct streams *streams)
{
	if (!streams)
		return;
	pthread_mutex_destroy(&streams->lock);
	free(streams);
}

static uint64_t streams_load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* STREAMS: none. */
static unsigned streams_find(const struct streams *streams, uint64_t key, uint64_t ordinal)
{
	unsigned i = 0;

	while (i < STREAMS && (streams_load(&streams->keys[i]) != key || ordinal < streams_load(&streams->from[i]) ||
			       ordinal >= streams_load(&streams->to[i]) + WALK_GAP))
		i++;
	return i;
}

bool streams_cover(const struct streams *streams, uint64_t key, uint64_t last, uint64_t ordinal)
{
	unsigned i = last && last < ordinal ? streams_find(streams, key, ordinal) : STREAMS;

	return i < STREAMS && last >= streams_load(&streams->from[i]);
}

/* ---- legs ---- */

static void streams_done(struct fetcher_job *job)
{
	free(job->ordinals);
	free(job);
}

static struct fetcher_job *streams_job(struct generation *generation)
{
	struct fetcher_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->ordinals = malloc(KEPT_FILES * sizeof(*job->ordinals));
	job->generation = generation;
	job->done = streams_done;
	if (job->ordinals)
		return job;
	free(job);
	return NULL;
}

/* Where another walker's stream begins, or next itself in the middle of one: what he reads is not read twice. */
static uint64_t streams_end(const struct streams *streams, unsigned i, const struct generation *generation)
{
	const struct stream *stream = &streams->stream[i];
	uint64_t end = generation->index->shape.inode_count + 1, from;

	for (unsigned k = 0; k < STREAMS; k++) {
		if (k == i || streams_load(&streams->keys[k]) != generation->key ||
		    streams_load(&streams->to[k]) <= stream->next ||
		    stream->used - streams->stream[k].used >= STREAM_LIVE)
			continue;
		from = streams_load(&streams->from[k]);
		from = from < stream->next ? stream->next : from;
		end = from < end ? from : end;
	}
	return end;
}

/* Files from stream->next on, up to so many bytes and before end. A file that is too large to be read ahead is a leg of
 * its own, without files: its READ moves the stream as well. */
static struct stream_leg streams_scan(struct stream *stream, const struct generation *generation, uint64_t end,
				      uint64_t most, struct fetcher_job *job)
{
	uint64_t limit = stream->next + STREAM_SCAN;
	struct stream_leg leg = { 0 };
	struct inode inode;
	uint64_t size;

	for (; stream->next < end && stream->next < limit && job->count < KEPT_FILES; stream->next++) {
		if (gather_was_taken(&stream->taken, stream->next) ||
		    inode_get(generation->index, stream->next, &inode, NULL) < 0 || !S_ISREG(inode.mode) || !inode.size)
			continue;
		size = inode.size < READ_MAX ? round_up(inode.size, DSFS_BLOCK) : READ_MAX;
		if (leg.first && (inode.size > READ_MAX || leg.bytes + size > most))
			return leg;
		if (!leg.first)
			leg.first = inode.ordinal;
		leg.bytes += size;
		if (inode.size > READ_MAX) {
			stream->next++;
			return leg;
		}
		job->ordinals[job->count++] = inode.ordinal;
	}
	return leg;
}

/* As much as the window lets be in a leg, for all members together. */
static uint64_t streams_leg_bytes(const struct stream *stream, const struct generation *generation)
{
	uint64_t members = generation->index->member_count, most = stream->window / STREAM_QUARTER;

	most = most < STREAM_LEG_MOST * members ? most : STREAM_LEG_MOST * members;
	return most > STREAM_LEG ? most : STREAM_LEG;
}

/* False: no more, for now. */
static bool streams_extend(struct streams *streams, unsigned i, struct generation *generation)
{
	struct stream *stream = &streams->stream[i], before = *stream;
	uint64_t end = streams_end(streams, i, generation), most = streams_leg_bytes(stream, generation);
	struct fetcher_job *job = streams_job(generation);
	struct stream_leg leg;

	if (!job)
		return false;
	leg = streams_scan(stream, generation, end, most, job);
	job->count = gather_among(generation->index, job->ordinals, job->count, stream->next, end, &stream->taken);
	job->marker = leg.first;
	job->reader_at = &streams->at[i];
	if (!job->count || !fetcher_post(streams->fetcher, job)) {
		if (job->count) {
			*stream = before;
			leg.first = 0;
		}
		streams_done(job);
	}
	if (leg.first)
		stream->legs[stream->count++] = leg;
	return leg.first;
}

/* Bytes ahead of the walker, who is at this ordinal. Legs behind him go. */
static uint64_t streams_pass(struct stream *stream, uint64_t ordinal)
{
	unsigned passed = 0;
	uint64_t ahead = 0;

	while (passed + 1 < stream->count && stream->legs[passed + 1].first <= ordinal)
		passed++;
	stream->count -= passed;
	memmove(stream->legs, stream->legs + passed, stream->count * sizeof(stream->legs[0]));
	for (unsigned i = 0; i < stream->count; i++)
		ahead += stream->legs[i].bytes;
	return ahead;
}

/* Its share of what may be ahead of all; the rest is for legs that walkers are in. */
static uint64_t streams_limit(struct streams *streams, int64_t now)
{
	unsigned live = 0;

	for (unsigned i = 0; i < STREAMS; i++)
		live += streams_load(&streams->keys[i]) && now - streams->stream[i].used < STREAM_LIVE;
	return fetcher_budget(streams->fetcher) / 4 * 3 / (live ? live : 1);
}

static void streams_fill(struct streams *streams, unsigned i, struct generation *generation, uint64_t ordinal)
{
	struct stream *stream = &streams->stream[i];
	uint64_t ahead = streams_pass(stream, ordinal), limit;
	unsigned before = stream->count;

	stream->used = clock_now();
	limit = streams_limit(streams, stream->used);
	stream->window = stream->window * 2 < limit ? stream->window * 2 : limit;
	while (ahead < stream->window && stream->count < STREAM_LEGS && streams_extend(streams, i, generation))
		ahead += stream->legs[stream->count - 1].bytes;
	atomic_store_explicit(&streams->to[i], stream->next, memory_order_relaxed);
	/* Where nothing could be added, or no leg follows, any READ asks again. */
	atomic_store_explicit(&streams->marks[i],
			      stream->count > 1 && stream->count > before ? stream->legs[1].first : ordinal + 1,
			      memory_order_relaxed);
}

/* ---- walkers ---- */

static unsigned streams_oldest(const struct streams *streams)
{
	unsigned oldest = 0;

	for (unsigned i = 0; i < STREAMS; i++)
		if (streams->stream[i].used < streams->stream[oldest].used)
			oldest = i;
	return oldest;
}

static unsigned streams_begin(struct streams *streams, uint64_t key, uint64_t ordinal)
{
	unsigned i = streams_oldest(streams);

	streams->stream[i] = (struct stream){ .window = STREAM_FIRST / 2, .next = ordinal + 1 };
	atomic_store_explicit(&streams->keys[i], 0, memory_order_relaxed);
	atomic_store_explicit(&streams->from[i], ordinal, memory_order_relaxed);
	atomic_store_explicit(&streams->to[i], ordinal + 1, memory_order_relaxed);
	atomic_store_explicit(&streams->marks[i], 0, memory_order_relaxed);
	atomic_store_explicit(&streams->at[i], ordinal, memory_order_relaxed);
	atomic_store_explicit(&streams->keys[i], key, memory_order_relaxed);
	return i;
}

void streams_walk(struct streams *streams, struct generation *generation, uint64_t ordinal)
{
	unsigned i = streams_find(streams, generation->key, ordinal);

	if (i < STREAMS)
		atomic_store_explicit(&streams->at[i], ordinal, memory_order_relaxed);
	if (i < STREAMS && ordinal < streams_load(&streams->marks[i]))
		return;
	if (pthread_mutex_trylock(&streams->lock) != 0)
		return;
	i = streams_find(streams, generation->key, ordinal);
	if (i == STREAMS)
		i = streams_begin(streams, generation->key, ordinal);
	if (ordinal >= streams_load(&streams->marks[i]))
		streams_fill(streams, i, generation, ordinal);
	pthread_mutex_unlock(&streams->lock);
}
