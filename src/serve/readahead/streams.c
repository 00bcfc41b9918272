/* SPDX-License-Identifier: MIT */
/* Holds a few streams; the least recently used one makes room. Any thread may load the ranges, which change under the
 * lock. No thread waits for the lock: if it is taken, the walker's next READ tries again. */
#include "serve/readahead/streams.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/round.h"
#include "serve/readahead/fetcher.h"
#include "serve/readahead/pick.h"
#include "serve/readahead/walkers.h"
#include "serve/version/generation.h"

#define STREAMS      8u
#define STREAM_LEGS  64u
#define STREAM_FIRST (UINT64_C(512) << 10) /* bytes ahead of a walker at first; doubles each time it is filled */
#define STREAM_LEG   (UINT64_C(256) << 10) /* least size of a leg, bytes */
#define STREAM_LEG_MOST (UINT64_C(1) << 20) /* largest size for each member, bytes: one device read */
#define STREAM_QUARTER 4u                  /* legs that a window has room for at least */
#define STREAM_SCAN  4096u                 /* limit of ordinals examined for a leg */
#define STREAM_LIVE  INT64_C(2000000000)   /* ns after `used` during which a stream shares the budget */

static_assert(KEPT_FILES <= PICK_FILES, "a leg is one job");

/* The files that one job brings. */
struct stream_leg {
	uint64_t first; /* ordinal of the first file */
	uint64_t bytes; /* bytes of all files, in whole blocks, as they lie on the volume */
};

/* A stream; its fields are under the lock. */
struct stream {
	uint64_t window;  /* bytes to have ahead of the walker */
	uint64_t next;    /* first ordinal that is in no leg, except for those taken */
	struct pick_taken taken; /* files at or after next that are in a leg */
	int64_t used;     /* time of the last READ that extended it, ns, monotonic */
	struct stream_leg legs[STREAM_LEGS]; /* the leg that the walker is in, and those ahead */
	unsigned count;
};

struct streams {
	/* Element i belongs to stream i. Written under the lock, except at; any thread may load them. */
	_Atomic uint64_t keys[STREAMS]; /* key of the version; 0: no stream */
	_Atomic uint64_t from[STREAMS], to[STREAMS]; /* range of ordinals, without to */
	_Atomic uint64_t at[STREAMS];    /* ordinal that the walker reads */
	_Atomic uint64_t marks[STREAMS]; /* a READ at or after this ordinal extends the stream */
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

/* The number of the stream that has this file in its range, or just behind it; STREAMS: none has. */
static unsigned streams_find(const struct streams *streams, uint64_t key, uint64_t ordinal)
{
	unsigned i = 0;

	while (i < STREAMS && (streams_load(&streams->keys[i]) != key || ordinal < streams_load(&streams->from[i]) ||
			       ordinal >= streams_load(&streams->to[i]) + WALKERS_GAP))
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

/* The ordinal at which stream i must end: where another live stream begins, or next if that is inside one, so that no
 * file is read ahead twice. */
static uint64_t streams_end(const struct streams *streams, unsigned i, const struct generation *generation)
{
	const struct stream *stream = &streams->stream[i];
	uint64_t end = generation->opened.index->shape.inode_count + 1, from;

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

/* Collects the files of a leg from stream->next on, up to `most` bytes and before `end`. A file that is too large to be
 * read ahead is a leg of its own without files, as its READ moves the stream, too. */
static struct stream_leg streams_scan(struct stream *stream, const struct generation *generation, uint64_t end,
				      uint64_t most, struct fetcher_job *job)
{
	uint64_t limit = stream->next + STREAM_SCAN;
	struct stream_leg leg = { 0 };
	struct inode inode;
	uint64_t size;

	for (; stream->next < end && stream->next < limit && job->count < KEPT_FILES; stream->next++) {
		if (pick_was_taken(&stream->taken, stream->next) ||
		    inode_get(generation->opened.index, stream->next, &inode, NULL) < 0 || !S_ISREG(inode.mode) ||
		    !inode.size)
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

/* The size of a leg in bytes, for all members together, as the window allows. */
static uint64_t streams_leg_bytes(const struct stream *stream, const struct generation *generation)
{
	uint64_t members = generation->opened.index->member_count, most = stream->window / STREAM_QUARTER;

	most = most < STREAM_LEG_MOST * members ? most : STREAM_LEG_MOST * members;
	return most > STREAM_LEG ? most : STREAM_LEG;
}

/* Adds a leg to stream i and posts its job. False: nothing can be added for now. */
static bool streams_extend(struct streams *streams, unsigned i, struct generation *generation)
{
	struct stream *stream = &streams->stream[i], before = *stream;
	uint64_t end = streams_end(streams, i, generation), most = streams_leg_bytes(stream, generation);
	struct fetcher_job *job = streams_job(generation);
	struct stream_leg leg;

	if (!job)
		return false;
	leg = streams_scan(stream, generation, end, most, job);
	job->count = pick_among(generation->opened.index, job->ordinals, job->count, stream->next, end, &stream->taken);
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

/* Removes legs behind the walker, which is at this ordinal. Returns the bytes of the remaining legs. */
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

/* The limit of a stream's window: its share of three quarters of the budget. The rest is for legs that walkers are
 * in. */
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
	/* If nothing could be added, or no leg follows, the next READ tries again. */
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
