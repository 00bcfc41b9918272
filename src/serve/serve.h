/* SPDX-License-Identifier: MIT */
/* What all workers share: the options, the volume, the opened version, the chunk cache, the counters. Set up
 * by session.c before the workers start and constant until they have ended, but for what says otherwise. */
#pragma once
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "image/catalogue.h"
#include "image/superblock.h"
#include "io/engine.h"
#include "io/file.h"
#include "serve/chunk_cache.h"
#include "serve/cpus.h"
#include "serve/generation.h"

enum serve_io { SERVE_IO_AUTO, SERVE_IO_URING, SERVE_IO_THREADS };
enum serve_channel { SERVE_CHANNEL_AUTO, SERVE_CHANNEL_RING, SERVE_CHANNEL_DEV };

struct serve_options {
	const char *volume;
	const char *mountpoint;
	const char *version; /* label; NULL for the current one */
	bool has_digest;
	uint8_t digest[32]; /* the version must have it */
	bool allow_other;
	bool noexec;
	bool verify; /* check chunk sums; off only to measure what that costs */
	enum serve_io io;
	enum serve_channel channel;
	unsigned workers;       /* 0: by the CPUs */
};

struct inside;
struct worker;

struct serve {
	struct serve_options options;
	struct file_source *volume;
	struct superblock super;
	struct catalogue catalogue;
	struct generation *generation; /* the version that names are looked up in */
	struct chunk_cache *cache;
	struct inside *inside;
	struct worker **workers;
	unsigned worker_count;
	bool ring;              /* requests come over io_uring; the last worker has /dev/fuse for the rest */
	bool ring_is_off;       /* the kernel has it, but its switch is off: a hint for the log */
	struct cpus cpus;
	unsigned queue_depth;   /* entries of each of the ring's queues */
	size_t slots;           /* of a worker on /dev/fuse */
	uint64_t buffer_budget; /* bytes that request buffers may take at most */
	bool uring;             /* else preadv */
	char io_reason[256];    /* why not, empty when uring */
	sem_t started_workers;  /* posted by each */
	int64_t started;        /* ns, monotonic */
};

/* The opened version that a node belongs to; NULL when none has its sequence. */
static inline struct generation *serve_generation(const struct serve *serve, uint64_t nodeid)
{
	struct generation *generation = serve->generation;

	return nodeid == NODE_ROOT || node_sequence(nodeid) == generation->sequence ? generation : NULL;
}
