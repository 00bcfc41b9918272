/* SPDX-License-Identifier: MIT */
/* For each name the kernel takes the root's lock, and so waits for all lookups in the root that are under way; then for those
 * that came meanwhile, and so on. Several threads stand in this queue together: one such wait lets a name of each through. */
#include "serve/control/tell.h"

#include <pthread.h>
#include <stdatomic.h>

#include "fuse/invalidate.h"
#include "image/names.h"

#define TELL_THREADS 32u
#define TELL_SLICE   8u /* names that a thread takes at a time */

struct tell {
	int fd;
	struct generation *old, *new;
	_Atomic uint64_t next_old, next_new; /* number of the first entry that nobody has taken */
	_Atomic bool failed;
	pthread_mutex_t lock;
	struct error *err; /* of the first failure; under the lock */
};

/* One thread's. */
struct teller {
	struct tell *tell;
	struct names_reader *old; /* NULL: all names count, else only those that it lacks */
	uint64_t end;
	bool any;
};

static int tell_fail(struct tell *tell, const struct error *why)
{
	pthread_mutex_lock(&tell->lock);
	if (!atomic_exchange(&tell->failed, true))
		*tell->err = *why;
	pthread_mutex_unlock(&tell->lock);
	return why->code;
}

static int tell_name(void *argument, const struct names_entry *entry)
{
	struct teller *teller = argument;
	struct error why = { 0 };
	uint64_t ordinal;

	if (entry->number >= teller->end || atomic_load(&teller->tell->failed))
		return 1;
	teller->any = true;
	if (teller->old && names_lookup(teller->old, INODE_ROOT, entry->name, entry->name_length, &ordinal) == 0)
		return 0;
	if (invalidate_entry(teller->tell->fd, NODE_ROOT, entry->name, entry->name_length, &why) < 0)
		return tell_fail(teller->tell, &why);
	return 0;
}

static void tell_slices(struct tell *tell, const struct generation *generation, struct names_reader *reader,
			struct names_reader *but, _Atomic uint64_t *next)
{
	struct teller teller = { .tell = tell, .old = but };
	struct error why = { 0 };
	uint64_t first;
	int r;

	do {
		first = atomic_fetch_add(next, TELL_SLICE);
		teller.end = first + TELL_SLICE;
		teller.any = false;
		r = names_list(reader, INODE_ROOT, first, tell_name, &teller);
		if (r < 0 && !atomic_load(&tell->failed)) {
			error_set(&why, r, "cannot list the root of '%s'", generation->version.label);
			tell_fail(tell, &why);
		}
	} while (teller.any && !atomic_load(&tell->failed));
}

static void *tell_main(void *argument)
{
	struct tell *tell = argument;
	struct names_reader *old = NULL, *new = NULL;
	struct error why = { 0 };

	if (names_reader_open(tell->old->index->names, &old, &why) < 0 ||
	    names_reader_open(tell->new->index->names, &new, &why) < 0)
		tell_fail(tell, &why);
	if (old && new) {
		tell_slices(tell, tell->old, old, NULL, &tell->next_old);
		tell_slices(tell, tell->new, new, old, &tell->next_new);
	}
	names_reader_close(new);
	names_reader_close(old);
	return NULL;
}

static unsigned tell_most(const struct tell *tell)
{
	uint64_t most = (tell->old->index->shape.inode_count + tell->new->index->shape.inode_count) / TELL_SLICE;

	return most < TELL_THREADS ? (unsigned)most : TELL_THREADS;
}

int tell_names(int fd, struct generation *old, struct generation *new, struct error *err)
{
	struct tell tell = { .fd = fd, .old = old, .new = new, .lock = PTHREAD_MUTEX_INITIALIZER, .err = err };
	pthread_t threads[TELL_THREADS];
	unsigned started = 0, most = tell_most(&tell);

	while (started + 1 < most && pthread_create(&threads[started], NULL, tell_main, &tell) == 0)
		started++;
	tell_main(&tell);
	while (started)
		pthread_join(threads[--started], NULL);
	pthread_mutex_destroy(&tell.lock);
	return atomic_load(&tell.failed) ? err->code : 0;
}
