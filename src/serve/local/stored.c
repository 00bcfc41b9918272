/* SPDX-License-Identifier: MIT */
/* Opens the store in the folder of the volume, and makes it a place that readers ask. */
#include "serve/local/stored.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "read/cached.h"
#include "serve/local/local.h"
#include "tier/folder.h"

static void stored_tell(const void *owner, const struct error *why)
{
	const struct serve *serve = owner;

	log_warn("cache '%s': %s, the volume is read instead", serve->options.cache, why->reason);
}

static struct store_setup stored_setup(struct serve *serve, int folder)
{
	const struct version *version = &serve_current(serve)->version;
	struct store_setup setup = { .folder = folder, .size = serve->options.cache_size,
				     .chunks = version->shape.chunk_count, .bytes = version->stored_bytes,
				     .tell = stored_tell, .owner = serve };

	memcpy(setup.volume, serve->volume.uuid, sizeof(setup.volume));
	return setup;
}

static int stored_make(struct serve *serve, struct error *err)
{
	auto_close int folder = -1;
	struct store_setup setup;
	struct store *store;
	int r = folder_make_volume(local_folder(serve->local), serve->volume.uuid, &folder, err);

	if (r < 0)
		return r;
	setup = stored_setup(serve, folder);
	r = store_open(&setup, &store, err);
	if (r < 0)
		return r;
	r = cached_new(store, serve->volume.array->count, &serve->cached, err);
	if (r < 0) {
		store_free(store); /* its thread has not begun */
		return r;
	}
	array_extend(serve->volume.array, store->data);
	return 0;
}

/* A drive that is full holds indexes, perhaps, and was not promised to hold more. */
int stored_open(struct serve *serve, struct error *err)
{
	struct error why = { 0 };
	int r = serve->local ? stored_make(serve, &why) : 0;

	if (r < 0 && (serve->adopts || (r == -ENOSPC && !serve->options.cache_size))) {
		log_warn("cache '%s': %s, no contents are kept", serve->options.cache, why.reason);
		return 0;
	}
	if (r < 0)
		error_set(err, r, "cache '%s': %s", serve->options.cache, why.reason);
	return r;
}

struct store_state stored_state(const struct serve *serve)
{
	return serve->cached ? store_state(serve->cached->store) : (struct store_state){ 0 };
}

int stored_start(struct serve *serve, struct error *err)
{
	return serve->cached ? store_start(serve->cached->store, err) : 0;
}

bool stored_stop(const struct serve *serve)
{
	if (!serve->cached || store_stop(serve->cached->store))
		return true;
	log_warn("the drive of the cache '%s' holds a write back, the daemon ends without it", serve->options.cache);
	return false;
}

void stored_free(struct serve *serve)
{
	if (!serve->cached)
		return;
	store_free(serve->cached->store);
	cached_free(serve->cached);
	serve->cached = NULL;
}
