/* SPDX-License-Identifier: MIT */
/* Begins a new epoch, so that the kernel asks for every name again. On kernels without epochs, the names of the root
 * are invalidated one by one. For each name the kernel takes the root's lock and so waits for all lookups in the root
 * that came before. Several threads wait in this queue together, so that each wait lets one name of every thread
 * through. */
#include "serve/control/announce.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/program/step.h"
#include "base/thread/thread.h"
#include "datasetfs/control.h"
#include "fuse/invalidate.h"
#include "image/names/names.h"

#define ANNOUNCE_THREADS 32u
#define ANNOUNCE_SLICE   8u /* names that a thread takes at a time */

struct announcement {
	int fd;
	struct generation *old, *new;
	_Atomic uint64_t next_old, next_new; /* number of the next entry that no thread has taken */
	_Atomic bool failed;
	pthread_mutex_t lock;
	struct error *err; /* the first failure; under the lock */
};

/* One thread's part of an announcement. */
struct announcer {
	struct announcement *shared;
	const struct names *old; /* names found here are skipped; NULL: no name is */
	uint64_t end;
	bool any;
};

static int announce_fail(struct announcement *shared, const struct error *why)
{
	pthread_mutex_lock(&shared->lock);
	if (!atomic_exchange(&shared->failed, true))
		*shared->err = *why;
	pthread_mutex_unlock(&shared->lock);
	return why->code;
}

static int announce_name(void *argument, const struct names_entry *entry)
{
	struct announcer *announcer = argument;
	struct error why = { 0 };
	uint64_t ordinal;

	if (entry->number >= announcer->end || atomic_load(&announcer->shared->failed))
		return 1;
	announcer->any = true;
	if (announcer->old && names_lookup(announcer->old, INODE_ROOT, entry->name, entry->name_length, &ordinal) == 0)
		return 0;
	if (invalidate_entry(announcer->shared->fd, NODE_ROOT, entry->name, entry->name_length, &why) < 0)
		return announce_fail(announcer->shared, &why);
	return 0;
}

static void announce_slices(struct announcement *shared, const struct generation *generation,
			    const struct names *but, _Atomic uint64_t *next)
{
	struct announcer announcer = { .shared = shared, .old = but };
	struct error why = { 0 };
	uint64_t first;
	int r;

	do {
		first = atomic_fetch_add(next, ANNOUNCE_SLICE);
		announcer.end = first + ANNOUNCE_SLICE;
		announcer.any = false;
		r = names_list(generation->opened.index->names, INODE_ROOT, first, announce_name, &announcer);
		if (r < 0 && !atomic_load(&shared->failed)) {
			error_set(&why, r, "cannot list the root of '%s'", generation->opened.version.label);
			announce_fail(shared, &why);
		}
	} while (announcer.any && !atomic_load(&shared->failed));
}

static void announce_main(void *argument)
{
	struct announcement *shared = argument;

	announce_slices(shared, shared->old, NULL, &shared->next_old);
	announce_slices(shared, shared->new, shared->old->opened.index->names, &shared->next_new);
}

static unsigned announce_most(const struct announcement *shared)
{
	uint64_t inodes = shared->old->opened.index->shape.inode_count + shared->new->opened.index->shape.inode_count;
	uint64_t most = inodes / ANNOUNCE_SLICE;

	return most < ANNOUNCE_THREADS ? (unsigned)most : ANNOUNCE_THREADS;
}

static int announce_names(int fd, struct generation *old, struct generation *new, struct error *err)
{
	struct announcement announcement = {
		.fd = fd, .old = old, .new = new, .lock = PTHREAD_MUTEX_INITIALIZER, .err = err
	};
	const struct thread_setup setup = { .run = announce_main, .argument = &announcement };
	struct thread threads[ANNOUNCE_THREADS];

	thread_share(threads, announce_most(&announcement), &setup);
	pthread_mutex_destroy(&announcement.lock);
	return atomic_load(&announcement.failed) ? err->code : 0;
}

static int announce_epoch(struct serve *serve, struct generation *old, struct generation *new, struct error *err)
{
	enum mount_notify how = serve->options.notify;
	int r;

	if (how != MOUNT_NOTIFY_ENTRIES) {
		r = invalidate_epoch(serve->mount_fd, err);
		if (r == 0 || how == MOUNT_NOTIFY_EPOCH)
			return r;
		log_info("this kernel has no epochs, invalidating names one by one: %s", err->reason);
		serve->options.notify = MOUNT_NOTIFY_ENTRIES;
		*err = (struct error){ 0 };
	}
	return announce_names(serve->mount_fd, old, new, err);
}

int announce_switch(struct serve *serve, struct generation *old, struct generation *new, struct error *err)
{
	/* Any name will do, as this is done for the root's lock. The kernel must have made names of a READDIRPLUS that
	 * the old version answered before the epoch ends, because a name gets the epoch in which it is made. */
	int r = invalidate_entry(serve->mount_fd, NODE_ROOT, DSFS_CONTROL_FOLDER ".", strlen(DSFS_CONTROL_FOLDER) + 1,
				 err);

	step("announce-root");
	if (r == 0)
		r = announce_epoch(serve, old, new, err);
	step("announce-epoch");
	if (r == 0)
		r = invalidate_inode(serve->mount_fd, NODE_ROOT, err);
	return r;
}
