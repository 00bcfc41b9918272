/* SPDX-License-Identifier: MIT */
/* The state that all parts of a mount share: options, volume, opened versions, caches. session.c sets it up before the
 * workers start; it stays constant until they have ended, unless a field says otherwise. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/thread/wake.h"
#include "device/nvme/topology.h"
#include "image/catalogue/catalogue.h"
#include "image/members/superblock.h"
#include "io/array.h"
#include "io/engine.h"
#include "options/mount_options.h"
#include "read/reader.h"
#include "serve/version/generations.h"
#include "serve/worker/cpus.h"

struct ahead;
struct clients;
struct control;
struct damage;
struct keep;
struct cache_folder;
struct recovery;
struct snapshots;
struct upgrade_command;
struct prune;
struct visits;
struct watchdog;
struct announced;
struct cached;
struct warmer;
struct worker;

/* Where a member of the volume is, and how to find it again when it is lost. */
struct serve_member {
	_Atomic(char *) name; /* path or identity by which it was found; NULL: it was never found */
	char **former; /* former names, kept because another thread may still read one */
	size_t former_count;
	struct error lost; /* why it is lost, as the control thread last logged it */
	_Atomic bool is_crypt; /* dm-crypt decrypts it */
	_Atomic bool is_lost; /* its descriptor refers to something else or cannot be read */
	char identity[TOPOLOGY_IDENTITY_SIZE]; /* of its NVMe namespace; "": it has none, or is no namespace */
};

/* The volume, and its state as seen so far. */
struct serve_volume {
	struct array_source *array;
	struct serve_member *members; /* by slot */
	struct route *route;          /* chooses the member to read; NULL: the volume has one member */
	struct window *window;        /* how many reads may be under way; NULL: no limit */
	_Atomic int path_error;       /* negative errno of the last device read that will be retried */
	uint8_t uuid[16];
	uint64_t opened;              /* sequence of the superblock at the mount */
	_Atomic uint64_t newest;      /* highest superblock sequence seen */
	_Atomic bool is_widening;     /* members were added, and another server is to begin with them */
	_Atomic(struct superblock_ring *) rings; /* read when the volume was opened; NULL once a load took them */
};

/* How the mount uses the machine; session/machine.c chooses it before the workers are made. */
struct serve_machine {
	bool uring;             /* threads read with io_uring; false: with preadv(2) */
	bool blocks;            /* workers read in their own thread: without io_uring, if bytes have no second place */
	char io_reason[256];    /* why io_uring is not used; empty if it is */
	bool ring;              /* requests come over io_uring; the last worker serves /dev/fuse for the rest */
	struct cpus cpus;
	size_t slots;           /* slots of a worker on /dev/fuse */
	unsigned jobs;          /* limit of a worker's requests that wait for other threads; leaves each queue a slot */
	uint64_t buffer_budget; /* limit of bytes for request buffers */
};

/* The mount's history, for its files in .datasetfs. Only the control thread writes it, except for `loads`
 * and the bytes of indexes. */
struct serve_history {
	int64_t started; /* time of the mount, ns, monotonic */
	_Atomic uint64_t switches;
	_Atomic uint64_t serving_since;  /* since when the current version is served, seconds since 1970 */
	_Atomic uint64_t outdated_until; /* when it last left a version gone from the volume, seconds since 1970 */
	/* Why the last check of the volume's current version failed; "": it did not. See follow_fails(). */
	char follow_failure[sizeof(((struct error *)0)->reason)];
	_Atomic uint64_t loads;          /* how often a version was loaded, including failures */
	_Atomic uint64_t index_read;     /* bytes of indexes that were loaded from the volume */
	_Atomic uint64_t index_copied;   /* bytes of indexes that were loaded from copies in the folder of cache= */
	_Atomic uint64_t index_shared;   /* bytes of indexes that other mounts have lent */
	_Atomic bool told_of_sums;       /* the log says what sums prove here, or cost */
};

/* Work for the control thread and for the watchdog, which any thread may ask for. */
struct serve_due {
	/* The control thread's: */
	_Atomic bool reopen;     /* a member may be lost, see health/reopen.h */
	_Atomic bool rejoin;     /* a member may be missing, stale or lost, see health/rejoin.h */
	_Atomic int64_t listing; /* when to make the kernel forget its listing of versions, ns; 0: it has none */
	/* The watchdog's: */
	_Atomic bool doubt;      /* a read found damage, so a member's descriptor may refer to something else */
	_Atomic bool offer;      /* clients lack a member that did not answer: they may ask again when it does */
};

struct serve {
	struct mount_options options;
	uint32_t owner; /* uid of the mounting user */
	struct subordinate *subordinate; /* user IDs that share; NULL: none do */
	struct serve_machine machine;
	struct serve_volume volume;
	struct generations generations;
	_Atomic uint64_t loading; /* upper bound of the bytes that loads of versions under way will take */
	struct keep *keep;        /* the supervisor; NULL: none */
	struct recovery *recovery; /* the facts for a successor */
	bool is_kept;             /* the record and the versions are kept for another server */
	bool adopts;              /* another server served the mount before, and this one took over */
	int mount_fd;             /* the mount's /dev/fuse, through which the kernel is notified */
	struct worker **workers;
	unsigned worker_count;
	struct cache_folder *cache_folder; /* the folder of local copies; NULL: none. Constant once workers run */
	struct cached *cached;    /* the chunks in it, as readers see them; NULL: none. The same */
	struct chunk_cache *cache;
	struct page_cache *pages; /* cached pages of block checksums */
	struct damage *damage;    /* damaged places that reads found */
	struct snapshots *snapshots;
	struct serve_history history;
	/* Threads beside the workers, and their tasks. */
	struct clients *clients;     /* constant once workers run */
	struct control *control;
	struct upgrade_command *upgrade; /* under way, see control/upgrade.c; NULL: none */
	struct wake wake;            /* wakes the control thread */
	struct prune *prune;         /* NULL before the mount serves */
	struct visits *visits;
	struct watchdog *watchdog;   /* NULL before the mount serves */
	struct serve_due due;
	struct ahead *ahead;         /* NULL: no read-ahead */
	struct announced *announced; /* NULL: users cannot announce files */
	struct warmer *warmer;       /* NULL: no contents are kept on this machine; constant once workers run */
	_Atomic bool is_leaving;     /* another server is about to take over, as an upgrade or new members want it */
	_Atomic bool may_store;      /* files may be stored into the page cache, as something can end that */
	_Atomic bool storing;        /* a thread that reads ahead is storing into the page cache */
};

/* The version that paths through the mountpoint lead to. Call it in a section, under generations.lock, or on the
 * control thread. */
static inline struct generation *serve_current(struct serve *serve)
{
	return generations_current(&serve->generations);
}

/* Has the control thread look for a member that may be missing, stale or lost. Any thread may call this. */
static inline void serve_request_rejoin(struct serve *serve)
{
	if (serve->volume.route && !atomic_exchange(&serve->due.rejoin, true))
		wake_up(&serve->wake);
}

/* Notes of a version that was opened whether members are missing, and whether there are copies. Any thread may call
 * this. If a member came back during the load, only versions that were in the table were told. */
void serve_note_members(struct serve *serve, const struct members *members);

/* Lists a place that a read of this version found damaged, and tells the watchdog to have the member checked. Any
 * thread may call this. */
void serve_note_damage(struct serve *serve, const struct reader_place *place, const struct generation *generation,
		       const struct error *why);

/* The prefix that messages put before the volume's name: "member N of " for one of several members, else "". */
struct serve_member_name {
	char text[32];
};
static inline struct serve_member_name serve_member_name(const struct serve *serve, uint32_t slot)
{
	struct serve_member_name name = { "" };

	if (serve->volume.array->count > 1)
		snprintf(name.text, sizeof(name.text), "member %u of ", slot);
	return name;
}

/* Limits reads of a member's file by other threads than workers: if it does not answer, another member may. */
void serve_be_patient(const struct serve *serve, uint32_t slot, struct file_source *file);
/* Whether a member has not answered workers for so long that other threads should not wait for it. Waits until it has
 * answered or the time is up. This is the volume's array_source.is_silent; `owner` is the struct serve. */
bool serve_is_silent(const void *owner, uint32_t slot);

/* Returns how many of the members that can be read are on dm-crypt. */
uint32_t serve_count_crypt(const struct serve *serve);
/* Whether a member cannot be read because it was never found or is lost. */
static inline bool serve_is_missing(const struct serve *serve, uint32_t slot)
{
	return !atomic_load(&serve->volume.members[slot].name) || atomic_load(&serve->volume.members[slot].is_lost);
}

/* Whether a read that does not come back can be made elsewhere: another member may have the bytes, or it reads a copy
 * on this machine. */
static inline bool serve_has_places(const struct serve *serve)
{
	return serve->volume.route || serve->cache_folder;
}

/* Sets the name of a member, and the identity of its namespace. Takes the name. Only on the control thread, or before
 * that thread runs. */
void serve_rename_member(struct serve *serve, uint32_t slot, char *name);
/* Frees the members with all their names. */
void serve_forget_members(struct serve *serve);
