/* SPDX-License-Identifier: MIT */
/* Keeps the folder open for the life of the mount, and with the supervisor for a successor. */
#include "serve/cache/cache_folder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cache/copy.h"
#include "cache/folder.h"
#include "device/locate.h"
#include "image/catalogue/index_load.h"
#include "io/file.h"
#include "serve/cache/copier.h"
#include "serve/cache/loan.h"
#include "supervisor/keep.h"

struct cache_folder {
	int folder; /* the descriptor */
	struct copier *copier;
	const char *own; /* name of the mount's socket; "": it is not announced */
};

/* ---- the folder ---- */

static int cache_folder_adopt(struct serve *serve, int *ret)
{
	*ret = keep_take(serve->keep, "cache");
	if (*ret < 0)
		log_warn("cache '%s': the former server had it not open, the mount goes on without a cache",
			 serve->options.cache);
	return 0;
}

/* A cache is no reason to refuse a mount: at boot the data set is what counts. */
static int cache_folder_find(struct serve *serve, int *ret, struct error *err)
{
	enum folder_note note = FOLDER_UNNOTED;
	struct error why = { 0 };

	if (folder_open(serve->options.cache, ret, &note, &why) < 0) {
		log_warn("%s; the mount goes on without a cache", why.reason);
		return 0;
	}
	if (note == FOLDER_DAMAGED)
		log_warn("cache '%s': its file 'format' is damaged, as by a power loss, and is written anew",
			 serve->options.cache);
	return keep_put(serve->keep, *ret, err, "cache");
}

int cache_folder_open(struct serve *serve, struct error *err)
{
	auto_close int folder = -1;
	struct cache_folder *cache;
	int r;

	if (!serve->options.cache)
		return 0;
	r = serve->adopts ? cache_folder_adopt(serve, &folder) : cache_folder_find(serve, &folder, err);
	if (r < 0 || folder < 0)
		return r;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return error_no_memory(err);
	r = copier_new(folder, serve->options.cache, &cache->copier, err);
	if (r < 0) {
		free(cache);
		return r;
	}
	cache->own = "";
	cache->folder = take_fd(&folder);
	serve->cache_folder = cache;
	return 0;
}

/* The drive of the cache may be stolen as well as those of the volume. */
static void cache_folder_warn_of_clear_text(const struct serve *serve)
{
	if (serve_count_crypt(serve) && locate_is_plain(serve->cache_folder->folder))
		log_warn("cache '%s': it has contents of an encrypted volume in clear text: use a folder on an "
			 "encrypted filesystem",
			 serve->options.cache);
}

int cache_folder_start(struct serve *serve, struct error *err)
{
	if (!serve->cache_folder)
		return 0;
	if (!serve->adopts)
		cache_folder_warn_of_clear_text(serve);
	return copier_start(serve->cache_folder->copier, err);
}

bool cache_folder_stop(struct cache_folder *cache)
{
	return !cache || copier_stop(cache->copier);
}

void cache_folder_free(struct cache_folder *cache)
{
	if (!cache)
		return;
	copier_free(cache->copier);
	close_fd(&cache->folder);
	free(cache);
}

/* ---- indexes ---- */

static int cache_folder_load_file(int volume, const struct copy *copy, struct backing backing,
				  const struct version *version, struct opened_version *ret, struct error *err)
{
	struct file_source *file;
	int r = copy_open(volume, copy, &file, err);

	if (r < 0)
		return r;
	r = copy->kind == COPY_INDEX ? index_load_copy(&file->source, COPY_AT, backing, version, &ret->index, err) :
				       block_sums_load_copy(&file->source, COPY_AT, version, &ret->block_sums, err);
	file_close(file);
	return r;
}

/* A copy that could not be looked at for lack of memory or descriptors may be right. */
static int cache_folder_load_copy(struct serve *serve, const struct version *version, enum copy_kind kind,
				  struct backing backing, struct opened_version *ret)
{
	const struct copy copy = copy_of(version, kind);
	auto_close int volume = -1;
	struct error why = { 0 };
	int r = folder_volume(serve->cache_folder->folder, serve->volume.uuid, &volume, &why);

	if (r == 0)
		r = cache_folder_load_file(volume, &copy, backing, version, ret, &why);
	if (r == 0 || r == -ENOENT)
		return r;
	log_warn("cache '%s': the copy of the %s of version '%s' is not used: %s", serve->options.cache,
		 kind == COPY_INDEX ? "index" : "block checksums", version->label, why.reason);
	if (!error_is_shortage(r))
		copier_reject(serve->cache_folder->copier, serve->volume.uuid, &copy);
	return r;
}

void cache_folder_announce(struct serve *serve, const char *name, const char *path)
{
	if (!serve->cache_folder)
		return;
	serve->cache_folder->own = name;
	copier_announce(serve->cache_folder->copier, serve->volume.uuid, name, path);
}

void cache_folder_borrow(struct serve *serve, const struct version *version, const struct members *members,
			 struct opened_version *ret)
{
	auto_close int volume = -1;

	if (serve->cache_folder && folder_volume(serve->cache_folder->folder, serve->volume.uuid, &volume, NULL) == 0)
		loan_take(volume, serve->volume.uuid, serve->cache_folder->own, version,
			  backing_of(&serve->volume.array->source, members), ret);
}

/* Loads copies of the parts that are not open. Returns the counter for the bytes of the index. */
static _Atomic uint64_t *cache_folder_load_copies(struct serve *serve, const struct version *version,
						  struct backing backing, struct opened_version *opened)
{
	_Atomic uint64_t *count = &serve->history.index_read;

	if (opened->index)
		count = &serve->history.index_shared;
	else if (serve->cache_folder && cache_folder_load_copy(serve, version, COPY_INDEX, backing, opened) == 0)
		count = &serve->history.index_copied;
	if (serve->cache_folder && !opened->block_sums && version->block_sums.length)
		(void)cache_folder_load_copy(serve, version, COPY_BLOCK_SUMS, backing, opened);
	return count;
}

int cache_folder_load(struct serve *serve, const struct version *version, const struct members *members,
		      struct opened_version *opened, struct error *err)
{
	const struct backing backing = backing_of(&serve->volume.array->source, members);
	_Atomic uint64_t *count = cache_folder_load_copies(serve, version, backing, opened);
	struct error damage = { .reason = "" };
	int r = opened_version_load(backing, version, opened, &damage, err);

	if (r < 0)
		return r;
	atomic_fetch_add(count, version->index.length);
	if (*damage.reason)
		log_warn("version '%s' is served without its block checksums, parts of large files are read in whole "
			 "chunks: %s",
			 version->label, damage.reason);
	return 0;
}

void cache_folder_keep(struct serve *serve, const struct catalogue *catalogue, struct generation *generation)
{
	if (serve->cache_folder)
		copier_post(serve->cache_folder->copier, catalogue, generation);
}

int cache_folder_fd(const struct cache_folder *cache)
{
	return cache->folder;
}
