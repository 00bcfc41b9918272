/* SPDX-License-Identifier: MIT */
/* What makes a swap atomic, in order:
 *
 *   current = new          LOOKUPs in the root and listings of it are answered by the new version from here on
 *   generations_wait()     no worker is at an answer by the old one; over the ring some may still be on their way
 *   an entry of the root   its lock waits for those, and until the kernel is done with lookups and listings of the
 *                          root that were answered before
 *   a new epoch            every name is asked for again (or, on older kernels, the root's are forgotten one by one)
 *   the root's inode       its attributes and cached listing go
 *   told = new             .datasetfs/version says so: who waits for that finds no name of the old version any more
 *
 * Nodes of the old version have other numbers: what is open stays what it was. */
#include "serve/control/change.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "datasetfs/control.h"
#include "device/locate.h"
#include "fuse/invalidate.h"
#include "image/dump.h"
#include "image/fine.h"
#include "serve/control/sweep.h"
#include "serve/control/tell.h"
#include "serve/opening/headroom.h"
#include "serve/serve.h"

#define READER_BYTES 8192u /* of each worker, for an open version */
#define SWEEP_FIRST  INT64_C(1000000000)   /* ns between the first two sweeps of a version that was left */
#define SWEEP_LEAST  INT64_C(10000000000)  /* to which this grows, */
#define SWEEP_REST   128                   /* or so many times what one took, */
#define SWEEP_MOST   INT64_C(600000000000) /* but not above */

/* ---- opening ---- */

static int change_choose(const struct catalogue *catalogue, const struct change_wish *wish,
			 const struct version **ret, struct error *err)
{
	char uuid[UUID_TEXT_SIZE];

	if (wish->label && *wish->label) {
		*ret = catalogue_by_label(catalogue, wish->label);
		return *ret ? 0 : error_set(err, -ENOENT, "the volume has no version '%s'", wish->label);
	}
	if (wish->uuid) {
		format_uuid(wish->uuid, uuid);
		*ret = catalogue_by_uuid(catalogue, wish->uuid);
		return *ret ? 0 : error_set(err, -ENOENT, "the volume has no version with the UUID %s", uuid);
	}
	*ret = catalogue_current(catalogue);
	return *ret ? 0 : error_set(err, -ENOENT, "the volume has no current version, choose one with version=");
}

static int change_check_digest(const struct serve *serve, const struct generation *generation, struct error *err)
{
	const struct serve_options *options = &serve->options;
	char found[65], expected[65];
	uint8_t digest[32];
	int r;

	if (!options->has_digest)
		return 0;
	r = dump_digest(generation->index, digest, err);
	if (r < 0)
		return r;
	if (!memcmp(digest, options->digest, sizeof(digest)))
		return 0;
	format_hex(digest, sizeof(digest), found);
	format_hex(options->digest, sizeof(digest), expected);
	return error_set(err, -EBADMSG, "version '%s' has the digest sha256:%s, expected sha256:%s",
			 generation->version.label, found, expected);
}

/* What an open version takes at most. */
static uint64_t change_bytes(const struct serve *serve, const struct version *version)
{
	return version->index_length + fine_memory_most(version) + (uint64_t)serve->worker_count * READER_BYTES;
}

/* others: bytes that the other thread's load may take yet. */
static int change_check_room(struct serve *serve, const struct version *version, const struct visitor *visitor,
			     uint64_t others, struct error *err)
{
	unsigned spare = 0;
	int r = visitor ? visitor_check(visitor, &serve->generations, version, clock_now(), &spare, err) : 0;

	if (r < 0 || !serve_current(serve))
		return r;
	return headroom_check(change_bytes(serve, version) + others, spare, err);
}

static int change_load_index(struct serve *serve, const struct version *version, struct generation **ret, struct error *err)
{
	struct generation *generation;
	int r;

	atomic_fetch_add(&serve->loads, 1);
	r = generation_open(&serve->volume->source, version, serve->worker_count, &generation, err);
	if (r < 0)
		return r;
	generation->hidden_mode = serve->options.suid ? 0 : S_ISUID | S_ISGID;
	r = change_check_digest(serve, generation, err);
	if (r < 0) {
		generation_put(generation);
		return r;
	}
	*ret = generation;
	return 0;
}

static int change_load_beside(struct serve *serve, const struct version *version, const struct visitor *visitor,
			      uint64_t others, struct generation **ret, struct error *err)
{
	struct generation *generation;
	struct error why = { 0 };
	int r = change_check_room(serve, version, visitor, others, err);

	if (r < 0)
		return r;
	r = change_load_index(serve, version, &generation, &why);
	if (r < 0 && visitor)
		visitor_remember(visitor, version, clock_now(), &why);
	if (r < 0)
		return error_set(err, r, "%s", why.reason);
	generation->is_visited = visitor && !visitor->may_switch;
	generation->visitor = visitor ? visitor->uid : 0;
	r = generations_add(&serve->generations, &generation, visitor != NULL, err);
	if (r < 0) {
		generation_put(generation);
		return r;
	}
	*ret = generation;
	return 0;
}

/* A visit and a command may load at once, each before the other's memory is taken. */
static int change_load(struct serve *serve, const struct version *version, const struct visitor *visitor,
		       struct generation **ret, struct error *err)
{
	uint64_t bytes = change_bytes(serve, version), others = atomic_fetch_add(&serve->loading, bytes);
	int r = change_load_beside(serve, version, visitor, others, ret, err);

	atomic_fetch_sub(&serve->loading, bytes);
	return r;
}

/* A namespace that was cloned, or a copy in a file, has everything but the identity. */
static void change_check_identity(const struct serve *serve, const struct superblock *super)
{
	char found[TOPOLOGY_IDENTITY_SIZE];
	struct error why = { 0 };

	if (!super->identity[0])
		return;
	if (locate_identity(serve->volume->fd, found, &why) < 0)
		log_warn("cannot tell which namespace '%s' is: %s, ignoring", serve->options.volume, why.reason);
	else if (strcmp(found, super->identity) != 0)
		log_warn("'%s' was published on '%s' and lies on %s%s%s now: this is a copy, ignoring",
			 serve->options.volume, super->identity, found[0] ? "'" : "something else",
			 found, found[0] ? "'" : "");
}

bool change_is_other(const struct serve *serve, const struct superblock *super)
{
	return super->sequence && memcmp(serve->volume_uuid, super->volume_uuid, sizeof(serve->volume_uuid)) != 0;
}

static int change_check_volume(struct serve *serve, const struct superblock *super, struct error *err)
{
	char found[UUID_TEXT_SIZE], expected[UUID_TEXT_SIZE];
	struct error doubt = { 0 };

	if (!serve_current(serve)) {
		memcpy(serve->volume_uuid, super->volume_uuid, sizeof(serve->volume_uuid));
		serve->opened = super->sequence;
		if (superblock_doubt(super, &doubt))
			log_warn("volume '%s': %s", serve->options.volume, doubt.reason);
		change_check_identity(serve, super);
	}
	if (!change_is_other(serve, super))
		return 0;
	format_uuid(super->volume_uuid, found);
	format_uuid(serve->volume_uuid, expected);
	return error_set(err, -ESTALE, "the volume was formatted anew: its UUID is %s, expected %s", found, expected);
}

static void change_remember(struct serve *serve, uint64_t sequence)
{
	uint64_t newest = atomic_load(&serve->newest);

	while (newest < sequence && !atomic_compare_exchange_weak(&serve->newest, &newest, sequence))
		continue;
}

int change_check_super(struct serve *serve, const struct superblock *super, uint64_t seen, struct error *err)
{
	int r = change_check_volume(serve, super, err);

	if (r < 0)
		return r;
	if (super->sequence < seen)
		return error_set(err, -ESTALE,
				 "superblock %" PRIu64 " is the newest that can be read, but %" PRIu64
				 " was seen before: try again, or mount anew if the volume was put back",
				 super->sequence, seen);
	change_remember(serve, super->sequence);
	return 0;
}

int change_read(struct serve *serve, struct superblock *ret_super, struct catalogue *ret, struct error *err)
{
	uint64_t seen = atomic_load(&serve->newest);
	int r;

	*ret_super = (struct superblock){ 0 };
	r = catalogue_load(&serve->volume->source, ret_super, ret, err);
	return r < 0 ? r : change_check_super(serve, ret_super, seen, err);
}

/* Compaction keeps the UUID: the latest of them. */
static struct generation *change_find_open(struct serve *serve, const uint8_t *uuid)
{
	struct generation *generation, *found = NULL;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (generation && !memcmp(generation->version.uuid, uuid, sizeof(generation->version.uuid)) &&
		    (!found || generation->sequence > found->sequence))
			found = generation;
	}
	return found;
}

static int change_refuse_number(const struct generation *undone, const struct version *version, struct error *err)
{
	return error_set(err, -ESTALE,
			 "version '%s' has the number of '%s', which was undone on the volume and is in use here: end its "
			 "use, or unmount and mount anew", version->label, undone->version.label);
}

/* The number that a version had is given again after its publish was undone. Numbers of nodes are made of it, so only one
 * of the two can be known to the kernel. */
static int change_make_way(struct serve *serve, struct generation *undone, const struct version *version, struct error *err)
{
	bool was_prepared = serve->generations.prepared == undone;
	char label[sizeof(undone->version.label)];

	memcpy(label, undone->version.label, sizeof(label));
	if (undone == serve_current(serve) || !generations_remove(&serve->generations, undone))
		return change_refuse_number(undone, version, err);
	if (was_prepared)
		serve->generations.prepared = NULL;
	log_warn("version '%s' was undone on the volume and is closed", label);
	return 0;
}

/* A visitor closes nothing; the lookup that was counted for him is given up. */
static int change_refuse_visitor(struct serve *serve, struct generation *undone, const struct version *version,
				 struct error *err)
{
	int r = change_refuse_number(undone, version, err);

	generations_forget(&serve->generations, undone, 1);
	return r;
}

/* What is open comes second: a version that was moved is wanted where it lies now. */
static int change_take(struct serve *serve, const struct catalogue *catalogue, const struct change_wish *wish,
		       struct generation **ret, struct error *err)
{
	const struct version *version = NULL;
	struct generation *generation = NULL;
	int r;

	if (wish->uuid && !catalogue_by_uuid(catalogue, wish->uuid))
		generation = change_find_open(serve, wish->uuid);
	if (!generation) {
		r = change_choose(catalogue, wish, &version, err);
		if (r < 0)
			return r;
		generation = generations_get(&serve->generations, version->sequence, wish->visitor != NULL);
	}
	if (generation && version && !generation_is(generation, version)) {
		r = wish->visitor ? change_refuse_visitor(serve, generation, version, err) :
				    change_make_way(serve, generation, version, err);
		if (r < 0)
			return r;
		generation = NULL;
	}
	if (!generation)
		return change_load(serve, version, wish->visitor, ret, err);
	*ret = generation;
	return 0;
}

static bool change_is_outdated(struct serve *serve, const struct superblock *super)
{
	struct superblock newer;

	return super->sequence && superblock_find(&serve->volume->source, &newer, NULL) == 0 &&
	       newer.sequence > super->sequence;
}

/* *ret_super: whose catalogue was read, also on failure; zeroed when none could be. */
static int change_try(struct serve *serve, const struct change_wish *wish, struct superblock *ret_super,
		      struct generation **ret, struct error *err)
{
	struct catalogue catalogue = { 0 };
	int r;

	r = change_read(serve, ret_super, &catalogue, err);
	if (r == 0)
		r = change_take(serve, &catalogue, wish, ret, err);
	catalogue_free(&catalogue);
	return r;
}

/* Meanwhile the version may be removed, or moved, and its index written over. */
static int change_try_again(struct serve *serve, const struct change_wish *wish, struct superblock *ret_super,
			    struct generation **ret, struct error *err)
{
	int r;

	do
		r = change_try(serve, wish, ret_super, ret, err);
	while (r == -EBADMSG && change_is_outdated(serve, ret_super));
	return r;
}

int change_open(struct serve *serve, const struct change_wish *wish, struct generation **ret, struct error *err)
{
	struct superblock super;

	return change_try_again(serve, wish, &super, ret, err);
}

/* A lookup of it is counted. */
static struct generation *change_open_under(struct serve *serve, const char *label)
{
	struct generation *generation;

	pthread_mutex_lock(&serve->generations.lock);
	generation = generations_by_label(&serve->generations, label);
	if (generation)
		atomic_fetch_add(&generation->lookups, 1);
	pthread_mutex_unlock(&serve->generations.lock);
	return generation;
}

int change_visit(struct serve *serve, const char *label, const struct visitor *visitor, struct generation **ret,
		 struct error *err)
{
	const struct change_wish wish = { .label = label, .visitor = visitor };
	struct generation *generation;
	struct superblock super;
	int r = change_try_again(serve, &wish, &super, ret, err);

	/* What the newest superblock leads to is an answer, and so is another volume. */
	if (r == 0 || change_is_other(serve, &super) || super.sequence >= atomic_load(&serve->newest))
		return r;
	generation = change_open_under(serve, label);
	if (!generation)
		return r;
	*ret = generation;
	return 1;
}

/* ---- telling the kernel ---- */

static int change_tell_names(struct serve *serve, int fd, struct generation *old, struct generation *new,
			     struct error *err)
{
	enum serve_notify how = serve->options.notify;
	int r;

	if (how != SERVE_NOTIFY_ENTRIES) {
		r = invalidate_epoch(fd, err);
		if (r == 0 || how == SERVE_NOTIFY_EPOCH)
			return r;
		log_info("the kernel knows no epochs, names are told one by one: %s", err->reason);
		serve->options.notify = SERVE_NOTIFY_ENTRIES;
		*err = (struct error){ 0 };
	}
	return tell_names(fd, old, new, err);
}

static int change_tell(struct serve *serve, int fd, struct generation *old, struct generation *new,
		       struct error *err)
{
	/* Any name: it is the lock of the root that counts. A READDIRPLUS answered by the old version must have become
	 * names before the epoch ends, as the kernel gives those the epoch of their making. */
	int r = invalidate_entry(fd, NODE_ROOT, CONTROL_FOLDER ".", strlen(CONTROL_FOLDER) + 1, err);

	if (r == 0)
		r = change_tell_names(serve, fd, old, new, err);
	if (r == 0)
		r = invalidate_inode(fd, NODE_ROOT, err);
	return r;
}

/* The sweep that was cancelled for this is taken up again when there is nothing better to do. */
static void change_leave(struct serve *serve, struct generation *left)
{
	int64_t now = clock_now();

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		struct generation *generation = atomic_load(&serve->generations.slots[i]);

		if (!generation || (generation != left && !generation->sweep_at))
			continue;
		generation->sweep_at = now + (generation == left ? 0 : SWEEP_FIRST);
		generation->sweep_delay = SWEEP_FIRST;
		generation->sweep_began = 0;
	}
	/* Told one by one they are gone already. */
	atomic_store(&left->root_swept, serve->options.notify == SERVE_NOTIFY_ENTRIES);
}

int change_to(struct serve *serve, int fd, struct generation *generation, struct error *err)
{
	struct generation *old = serve_current(serve);
	struct error why = { 0 }, ignored = { 0 };
	int r;

	if (old == generation)
		return 0;
	sweep_cancel(serve->sweep);
	atomic_store(&serve->generations.current, generation);
	generations_wait(&serve->generations);
	r = change_tell(serve, fd, old, generation, &why);
	if (r == 0) {
		atomic_store(&serve->generations.told, generation);
		change_leave(serve, old);
		return 0;
	}
	/* Half told is worse than not switched: the old version becomes current again, and what can be told is. */
	atomic_store(&serve->generations.current, old);
	generations_wait(&serve->generations);
	(void)change_tell(serve, fd, generation, old, &ignored);
	change_leave(serve, generation);
	return error_set(err, r, "%s", why.reason);
}

/* ---- closing ---- */

/* Of a sweep that ended: what it took decides how often it is worth it. */
static void change_swept(struct generation *generation)
{
	int64_t now = clock_now(), most = (now - generation->sweep_began) * SWEEP_REST;

	most = most < SWEEP_LEAST ? SWEEP_LEAST : most > SWEEP_MOST ? SWEEP_MOST : most;
	generation->sweep_began = 0;
	generation->sweep_at = now + generation->sweep_delay;
	generation->sweep_delay = generation->sweep_delay < most / 2 ? generation->sweep_delay * 2 : most;
}

static bool change_is_left(struct serve *serve, const struct generation *generation)
{
	return generation && generation != serve_current(serve) && generation->sweep_at &&
	       atomic_load(&generation->lookups);
}

int64_t change_sweep(struct serve *serve)
{
	bool busy = sweep_is_busy(serve->sweep);
	struct generation *generation;
	int64_t next = 0;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (!change_is_left(serve, generation))
			continue;
		if (generation->sweep_began && !busy)
			change_swept(generation);
		if (clock_now() < generation->sweep_at)
			next = !next || generation->sweep_at < next ? generation->sweep_at : next;
		else if (!busy && (busy = sweep_begin(serve->sweep, generation)))
			generation->sweep_began = clock_now();
	}
	return next;
}
