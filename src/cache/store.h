/* SPDX-License-Identifier: MIT */
/* A volume's cache of chunks, in the volume's folder (folder.h):
 *
 *   lock  held by the process that fills it
 *   data  slots; a chunk lies in one, as far behind a block as on the volume
 *   map   the table that says which chunks are where, as it was saved
 *
 * A thread loads the saved table, writes chunks that readers stage, and saves the table. It never holds up a reader: it
 * drops chunks that do not fit. Of several processes that have the cache open one fills it; the others load its table,
 * and one of them goes on when it has ended. A process can have a successor instead, which takes over the table as it
 * is in memory, the data and the lock. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/thread/thread.h"
#include "cache/chunk_table.h"
#include "cache/stage.h"
#include "cache/view.h"

#define STORE_DATA "data"
#define STORE_LOCK "lock"

/* Files of a store, for a successor: the process that had them ends, or has ended. */
struct store_kept {
	int map;  /* in memory: table.fd of the store */
	int data;
	int lock; /* -1: another process fills, or this one has not loaded the saved table yet */
};

struct store_setup {
	int folder;         /* of the volume, in the cache's folder; the store keeps a copy */
	uint8_t volume[16]; /* its UUID */
	uint64_t size;      /* bytes that the cache may take, its table included; 0: what leaves FOLDER_SPARE free */
	uint64_t chunks, bytes; /* how many of them the volume has, of how many stored bytes, as far as is known */
	/* Tells, on the store's thread or while it opens, that something is wrong from which no read suffers. */
	void (*tell)(const void *owner, const struct error *why);
	/* Tells, on the store's thread, that this process fills from now on: it has the lock, and has loaded the saved
	 * table. NULL: no call. */
	void (*locked)(const void *owner, int lock);
	const void *owner;
	struct store_kept *kept; /* descriptors that the store takes, unless it fails; NULL: it opens the files */
};

/* Whether chunks are worth offering, or why not. */
enum store_admission {
	STORE_ADMITS,
	STORE_LOADS,   /* the saved table is not loaded yet */
	STORE_FOLLOWS, /* another process fills it, or this one ends */
	STORE_FULL,    /* no slot is free, or the filesystem has no room, or enough was written today */
	STORE_FAILS,   /* it cannot be written to; it is tried again */
	STORE_REMOVED,
};

struct store {
	struct view view; /* as readers have it: of the table */
	struct chunk_table table;
	struct stage *stage;
	int folder, data; /* data: for direct reads and writes, if the filesystem has them */
	int lock;         /* -1: another process fills it */
	_Atomic enum store_admission admission;
	_Atomic int failure;       /* errno of the last write that failed */
	_Atomic bool is_loaded;
	_Atomic uint64_t fills, dropped, errors;
	_Atomic uint32_t used;     /* slots that are not free */
	void (*tell)(const void *owner, const struct error *why);
	void (*locked)(const void *owner, int lock);
	const void *owner;
	/* The thread's: */
	struct thread thread;
	uint32_t slot; /* where the buffer that is being written goes */
	bool has_slot, is_gone, was_told;
	int64_t resumes; /* when it looks whether it may accept again; ns, monotonic, as are the next two */
	int64_t saved;   /* when it last saved, or loaded another process's table */
	int64_t looked;  /* when it last tried to get the lock */
	uint64_t loaded; /* number of the inode that was loaded last */
	int saved_fd;    /* the table to load; -1: none */
};

/* Opens the files. Nothing is found or taken before the thread runs; a kept table is there at once. */
must_check int store_open(const struct store_setup *setup, struct store **ret, struct error *err);
must_check int store_start(struct store *store, struct error *err);
/* Has the thread write and save the rest, and end. False: it hangs in a device, and all memory must stay. */
bool store_stop(struct store *store);
/* After store_stop(). The store must not be used any more. */
void store_free(struct store *store);

/* The files in a volume's folder, without opening them. */
struct store_files {
	uint64_t bytes;  /* that they take; 0: there are none */
	int64_t written; /* seconds since 1970 */
};
struct store_files store_look(int folder);
/* Removes them. Processes that have them open read on, and add nothing any more. */
void store_remove(int folder);

/* Takes a copy of the stored bytes of a chunk, which were found right, if there is room. Any thread may call it. */
void store_add(struct store *store, const struct chunk *chunk, const struct iovec *parts, int count);

static inline enum store_admission store_admission(const struct store *store)
{
	return atomic_load_explicit(&store->admission, memory_order_relaxed);
}

/* Whether chunks are worth offering. */
static inline bool store_accepts(const struct store *store)
{
	return store_admission(store) == STORE_ADMITS;
}

/* Whether its folder or its data was removed, also if the thread has not noticed yet. Any thread may call it. */
bool store_is_removed(const struct store *store);

/* Returns why it fails, as an errno. */
static inline int store_failure(const struct store *store)
{
	return atomic_load(&store->failure);
}

/* Whether there is room for many chunks at once, and for those of the mount's readers as well. Any thread may call it,
 * store_staged(), and store_is_written(). */
bool store_has_room(const struct store *store);
/* Returns how many chunks were offered and taken until now. */
uint64_t store_staged(const struct store *store);
/* Whether as many chunks as were staged at some time can be found by now, or were dropped. */
bool store_is_written(const struct store *store, uint64_t staged);

/* Returns the bytes of all slots. */
static inline uint64_t store_size(const struct store *store)
{
	return (uint64_t)store->table.slots.count * SLOTS_SIZE;
}

struct store_state {
	uint64_t fills, dropped; /* chunks that were written; that were not, as there was no room */
	uint64_t errors;         /* failures to write */
	uint64_t used, size;     /* bytes of the slots that have something, and of all */
};
/* Any thread may call it. */
struct store_state store_state(const struct store *store);
