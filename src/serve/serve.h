/* SPDX-License-Identifier: MIT */
/* What all workers share: options, volume, opened version, caches, counters. session.c sets it up before the workers
 * start; it stays constant until they have ended, unless a field says otherwise. */
#pragma once
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/wake.h"
#include "device/topology.h"
#include "image/catalogue.h"
#include "image/superblock.h"
#include "io/array.h"
#include "io/engine.h"
#include "read/reader.h"
#include "serve/version/generations.h"
#include "serve/worker/cpus.h"

/* What is read ahead of readers: bytes, the last unless the mount option says. */
#define SERVE_AHEAD_MIN (UINT64_C(2) << 20)
#define SERVE_AHEAD_MAX (UINT64_C(1) << 30)
#define SERVE_AHEAD     (UINT64_C(16) << 20)
/* The same of what users announce. */
#define SERVE_PREFETCH_MIN (UINT64_C(16) << 20)
#define SERVE_PREFETCH_MAX (UINT64_C(1) << 40)
#define SERVE_PREFETCH     (UINT64_C(256) << 20)

enum serve_io { SERVE_IO_AUTO, SERVE_IO_URING, SERVE_IO_THREADS };
enum serve_notify { SERVE_NOTIFY_AUTO, SERVE_NOTIFY_EPOCH, SERVE_NOTIFY_ENTRIES };
enum serve_channel { SERVE_CHANNEL_AUTO, SERVE_CHANNEL_RING, SERVE_CHANNEL_DEV };

struct serve_options {
	const char *volume; /* a path, or an identity (device/locate.h) */
	const char *mountpoint;
	const char *version; /* label; NULL for the current one */
	bool has_digest;
	uint8_t digest[32]; /* the version must have it */
	bool allow_other;
	bool noexec;
	bool suid; /* setuid and setgid bits are shown and count */
	bool noversions; /* without .datasetfs/versions */
	enum serve_io io;
	enum serve_channel channel;
	enum serve_notify notify; /* how the kernel is told of a switch */
	bool has_control_group;
	uint32_t control_group; /* its members may switch, beside root and the mounting user */
	bool has_direct_group;
	uint32_t direct_group;  /* its members may read past the mount, beside those two */
	const char *direct_group_name; /* or its number, as it was given */
	unsigned follow;        /* seconds between looks at the volume's current version; 0: never */
	unsigned workers;       /* 0: by the CPUs */
	uint64_t prefetch;      /* bytes that are kept of files that users announce at most; 0: no user may */
	uint64_t ahead;         /* bytes that are read ahead of readers at most; 0: nothing is */
	struct reader_options read;
};

struct ahead;
struct clients;
struct control;
struct damage;
struct snapshots;
struct standby;
struct prune;
struct visits;
struct watchdog;
struct wishes;
struct worker;

/* Where a member is looked for when it is lost. */
struct serve_member {
	_Atomic(char *) name; /* as it was found; NULL: it never was */
	char **former; /* names that it had: somebody may look at one yet */
	size_t former_count;
	struct error lost; /* why, as the control thread said last */
	_Atomic bool is_lost; /* what is in its place is not the member, or cannot be read */
	char identity[TOPOLOGY_IDENTITY_SIZE]; /* of the namespace that was mounted; "": it is none, or has none */
};

struct serve {
	struct serve_options options;
	uint32_t owner; /* the user who mounted */
	struct array_source *volume;
	struct superblock_ring *rings; /* that were read when it was opened, until its catalogue is loaded */
	uint8_t volume_uuid[16];
	struct serve_member *members; /* of the volume, by slot */
	struct route *route;          /* which of them is read; NULL: there is one */
	uint64_t opened;        /* sequence of the superblock at the mount */
	_Atomic uint64_t newest; /* the highest that was seen */
	_Atomic uint64_t switches; /* since the mount */
	_Atomic uint64_t serving_since; /* the version, seconds since 1970 */
	_Atomic uint64_t loads; /* of versions, also those that failed */
	_Atomic uint64_t loading; /* bytes that those under way take at most */
	int mount_fd;     /* /dev/fuse of the mount: the kernel is notified by it */
	struct wake wake; /* the control thread's */
	struct generations generations;
	struct clients *clients; /* constant once workers run */
	struct control *control;
	struct damage *damage;  /* that reads found */
	struct ahead *ahead;    /* NULL: nothing is read ahead */
	struct prune *prune;    /* NULL before the mount serves */
	struct wishes *wishes;  /* NULL: users may announce nothing */
	bool may_store;         /* into the page cache; constant once workers run */
	_Atomic bool storing;   /* a thread that reads ahead is in a store */
	struct standby *standby; /* NULL: workers do not hang in reads, or nobody could help; constant once they run */
	struct visits *visits;
	struct watchdog *watchdog; /* NULL before the mount serves */
	_Atomic int64_t listed; /* when the kernel is to forget the listing of versions, ns; 0: it has none */
	_Atomic uint64_t outdated_until; /* when it last left a version that was not on the volume, s since 1970 */
	_Atomic bool is_lost;   /* perhaps: see reopen.h */
	_Atomic bool is_doubtful; /* a read found damage, perhaps in what took a member's place */
	_Atomic bool follow_failed; /* the last look at the volume's current version failed */
	_Atomic bool is_withheld; /* a client did not get a member that did not answer then: see clients/answer.h */
	_Atomic bool is_degraded; /* perhaps a member is missing, stale or lost: see rejoin.h */
	int64_t look_at;        /* the control thread's: when to look for it again, ns, monotonic */
	_Atomic int path_error; /* negative errno of the last device read that is to be tried again */
	struct chunk_cache *cache;
	struct page_cache *pages; /* of block checksums */
	struct snapshots *snapshots;
	struct worker **workers;
	unsigned worker_count;
	bool ring;              /* requests come over io_uring; the last worker has /dev/fuse for the rest */
	struct cpus cpus;
	unsigned jobs;          /* requests of a worker that wait for a thread: no queue gives its last slot to one */
	size_t slots;           /* of a worker on /dev/fuse */
	uint64_t buffer_budget; /* bytes that request buffers may take at most */
	bool uring;             /* else preadv */
	char io_reason[256];    /* why not, empty when uring */
	sem_t started_workers;  /* posted by each */
	int64_t started;        /* ns, monotonic */
};

/* The version that names are looked up in; as generations_find(). */
static inline struct generation *serve_current(struct serve *serve)
{
	return generations_current(&serve->generations);
}

/* Any thread: a member is not as it should be. */
static inline void serve_note_degraded(struct serve *serve)
{
	if (serve->route && !atomic_exchange(&serve->is_degraded, true))
		wake_up(&serve->wake);
}

/* Any thread: lists a place that a read of this version found damaged. The watchdog has the member looked at. */
void serve_note_damage(struct serve *serve, const struct reader_place *place, const struct generation *generation,
		       const struct error *why);

/* As messages call it: the volume, or one member of several. */
struct serve_member_name {
	char text[32];
};
static inline struct serve_member_name serve_member_name(const struct serve *serve, uint32_t slot)
{
	struct serve_member_name name = { "" };

	if (serve->volume->count > 1)
		snprintf(name.text, sizeof(name.text), "member %u of ", slot);
	return name;
}

/* Whether a member has not answered workers for so long that nobody else should wait for it, as array_source.is_silent
 * of the volume: its owner is the serve. Waits until that is known. */
bool serve_is_silent(const void *owner, uint32_t slot);

/* Whether nothing can be read of a member: it was never found, or is lost. */
static inline bool serve_is_missing(const struct serve *serve, uint32_t slot)
{
	return !atomic_load(&serve->members[slot].name) || atomic_load(&serve->members[slot].is_lost);
}

/* Whether reads of a member of several, which is there, wait for long just now, or fail. */
bool serve_is_suspect(const struct serve *serve, uint32_t slot);

/* By the control thread, or before it runs: what a member is found by, and which namespace it is. Takes the name. */
void serve_rename_member(struct serve *serve, uint32_t slot, char *name);
/* All names. */
void serve_forget_members(struct serve *serve);
