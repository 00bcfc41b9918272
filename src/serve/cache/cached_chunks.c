/* SPDX-License-Identifier: MIT */
/* Opens the store in the folder of the volume, and makes it a place that readers ask. */
#include "serve/cache/cached_chunks.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cache/folder.h"
#include "read/cached.h"
#include "serve/cache/cache_folder.h"
#include "supervisor/keep.h"

static void cached_chunks_tell(const void *owner, const struct error *why)
{
	const struct serve *serve = owner;

	log_warn("cache '%s': %s, the volume is read instead", serve->options.cache, why->reason);
}

/* A successor that does not get the lock waits for it like any other process, and then loads the saved table. So it
 * gets the lock when the table in memory has more than that. */
static void cached_chunks_locked(const void *owner, int lock)
{
	const struct serve *serve = owner;
	struct error err = { 0 };

	if (keep_put(serve->keep, lock, &err, "cache-lock") < 0)
		log_error(&err, "cache '%s': the lock is not kept for another server", serve->options.cache);
}

static struct store_setup cached_chunks_setup(struct serve *serve, int folder, struct store_kept *kept)
{
	const struct version *version = &serve_current(serve)->opened.version;
	struct store_setup setup = { .folder = folder, .size = serve->options.cache_size,
				     .chunks = version->shape.chunk_count, .bytes = version->stored_bytes,
				     .tell = cached_chunks_tell, .locked = cached_chunks_locked, .owner = serve,
				     .kept = kept };

	memcpy(setup.volume, serve->volume.uuid, sizeof(setup.volume));
	return setup;
}

/* A successor has the former server's table up to its death, and not only the saved one. */
static int cached_chunks_keep(struct serve *serve, const struct store *store, struct error *err)
{
	int r = keep_put(serve->keep, store->table.fd, err, "cache-map");

	return r < 0 ? r : keep_put(serve->keep, store->data, err, "cache-data");
}

/* Takes the store, also on failure. */
static int cached_chunks_use(struct serve *serve, struct store *store, struct error *err)
{
	int r = serve->adopts ? 0 : cached_chunks_keep(serve, store, err);

	if (r == 0)
		r = cached_new(store, serve->volume.array->count, &serve->cached, err);
	if (r < 0)
		store_free(store); /* its thread has not begun */
	else
		array_extend(serve->volume.array, store->data);
	return r;
}

/* kept: a former server's table; NULL: there was none. */
static int cached_chunks_make(struct serve *serve, struct store_kept *kept, struct error *err)
{
	auto_close int folder = -1;
	struct store_setup setup;
	struct store *store;
	int r = folder_make_volume(cache_folder_fd(serve->cache_folder), serve->volume.uuid, &folder, err);

	if (r < 0)
		return r;
	if (kept && (kept->map < 0 || kept->data < 0))
		return error_set(err, -ENOENT, "the former server left no map of it");
	setup = cached_chunks_setup(serve, folder, kept);
	r = store_open(&setup, &store, err);
	return r < 0 ? r : cached_chunks_use(serve, store, err);
}

/* Without a cache this mount must not keep others from filling it: the supervisor has the lock as well. */
static void cached_chunks_leave(struct serve *serve)
{
	keep_drop(serve->keep, "cache-map");
	keep_drop(serve->keep, "cache-data");
	keep_drop(serve->keep, "cache-lock");
}

static int cached_chunks_adopt(struct serve *serve, struct error *err)
{
	struct store_kept kept = { keep_take(serve->keep, "cache-map"), keep_take(serve->keep, "cache-data"),
				   keep_take(serve->keep, "cache-lock") };
	int r = cached_chunks_make(serve, &kept, err);

	close_fd(&kept.map);
	close_fd(&kept.data);
	close_fd(&kept.lock);
	return r;
}

void cached_chunks_open(struct serve *serve)
{
	struct error why = { 0 };
	int r = 0;

	if (serve->cache_folder)
		r = serve->adopts ? cached_chunks_adopt(serve, &why) : cached_chunks_make(serve, NULL, &why);
	if (r < 0)
		log_warn("cache '%s': %s, no contents are kept", serve->options.cache, why.reason);
	if (serve->options.cache && !serve->cached && !keep_is_rehearsal(serve->keep))
		cached_chunks_leave(serve);
}

const struct store *cached_chunks_store(const struct serve *serve)
{
	return serve->cached ? serve->cached->store : NULL;
}

void cached_chunks_hit(const struct serve *serve, uint64_t slot)
{
	struct view *view = serve->cached ? serve->cached->view : NULL;

	if (view && slot < view->table->slots.count)
		view_hit(view, slot * SLOTS_SIZE);
}

struct store_state cached_chunks_state(const struct serve *serve)
{
	return serve->cached ? store_state(serve->cached->store) : (struct store_state){ 0 };
}

bool cached_chunks_follows(const struct serve *serve)
{
	return serve->cached && store_admission(serve->cached->store) == STORE_FOLLOWS;
}

int cached_chunks_start(struct serve *serve, struct error *err)
{
	return serve->cached ? store_start(serve->cached->store, err) : 0;
}

bool cached_chunks_stop(const struct serve *serve)
{
	if (!serve->cached || store_stop(serve->cached->store))
		return true;
	log_warn("a write to cache '%s' is stuck, exiting without waiting for it", serve->options.cache);
	return false;
}

void cached_chunks_free(struct serve *serve)
{
	if (!serve->cached)
		return;
	store_free(serve->cached->store);
	cached_free(serve->cached);
	serve->cached = NULL;
}
