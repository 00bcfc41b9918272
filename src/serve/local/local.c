/* SPDX-License-Identifier: MIT */
/* Keeps the folder open for the life of the mount, and with the supervisor for a successor. */
#include "serve/local/local.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cache/copy.h"
#include "cache/folder.h"
#include "device/locate.h"
#include "image/catalogue/index_load.h"
#include "io/file.h"
#include "serve/local/copier.h"
#include "serve/local/loan.h"
#include "supervisor/keep.h"

struct local {
	int folder; /* the descriptor */
	struct copier *copier;
	const char *own; /* name of the mount's socket; "": it is not announced */
};

/* ---- the folder ---- */

static int local_adopt(struct serve *serve, int *ret)
{
	*ret = keep_take(serve->keep, "cache");
	if (*ret < 0)
		log_warn("cache '%s': the former server had it not open, the mount goes on without a cache",
			 serve->options.cache);
	return 0;
}

/* A cache is no reason to refuse a mount: at boot the data set is what counts. */
static int local_open_folder(struct serve *serve, int *ret, struct error *err)
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

int local_open(struct serve *serve, struct error *err)
{
	auto_close int folder = -1;
	struct local *local;
	int r;

	if (!serve->options.cache)
		return 0;
	r = serve->adopts ? local_adopt(serve, &folder) : local_open_folder(serve, &folder, err);
	if (r < 0 || folder < 0)
		return r;
	local = calloc(1, sizeof(*local));
	if (!local)
		return error_no_memory(err);
	r = copier_new(folder, serve->options.cache, &local->copier, err);
	if (r < 0) {
		free(local);
		return r;
	}
	local->own = "";
	local->folder = take_fd(&folder);
	serve->local = local;
	return 0;
}

/* The drive of the cache may be stolen as well as those of the volume. */
static void local_warn_of_clear_text(const struct serve *serve)
{
	if (serve_count_crypt(serve) && locate_is_plain(serve->local->folder))
		log_warn("cache '%s': it has contents of an encrypted volume in clear text: use a folder on an "
			 "encrypted filesystem", serve->options.cache);
}

int local_start(struct serve *serve, struct error *err)
{
	if (!serve->local)
		return 0;
	if (!serve->adopts)
		local_warn_of_clear_text(serve);
	return copier_start(serve->local->copier, err);
}

bool local_stop(struct local *local)
{
	return !local || copier_stop(local->copier);
}

void local_free(struct local *local)
{
	if (!local)
		return;
	copier_free(local->copier);
	close_fd(&local->folder);
	free(local);
}

/* ---- indexes ---- */

static int local_load_file(int volume, const struct copy *copy, struct backing backing, const struct version *version,
			   struct opened_version *ret, struct error *err)
{
	struct file_source *file;
	int r = copy_open(volume, copy, &file, err);

	if (r < 0)
		return r;
	r = copy->kind == COPY_INDEX ?
		    index_load_copy(&file->source, COPY_AT, backing, version, &ret->index, err) :
		    block_sums_load_copy(&file->source, COPY_AT, version, &ret->block_sums, err);
	file_close(file);
	return r;
}

/* A copy that could not be looked at for lack of memory or descriptors may be right. */
static int local_load_copy(struct serve *serve, const struct version *version, enum copy_kind kind,
			   struct backing backing, struct opened_version *ret)
{
	const struct copy copy = copy_of(version, kind);
	auto_close int volume = -1;
	struct error why = { 0 };
	int r = folder_volume(serve->local->folder, serve->volume.uuid, &volume, &why);

	if (r == 0)
		r = local_load_file(volume, &copy, backing, version, ret, &why);
	if (r == 0 || r == -ENOENT)
		return r;
	log_warn("cache '%s': the copy of the %s of version '%s' is not used: %s", serve->options.cache,
		 kind == COPY_INDEX ? "index" : "block checksums", version->label, why.reason);
	if (!error_is_shortage(r))
		copier_reject(serve->local->copier, serve->volume.uuid, &copy);
	return r;
}

void local_announce(struct serve *serve, const char *name, const char *path)
{
	if (!serve->local)
		return;
	serve->local->own = name;
	copier_announce(serve->local->copier, serve->volume.uuid, name, path);
}

void local_borrow(struct serve *serve, const struct version *version, const struct members *members,
		  struct opened_version *ret)
{
	auto_close int volume = -1;

	if (serve->local && folder_volume(serve->local->folder, serve->volume.uuid, &volume, NULL) == 0)
		loan_take(volume, serve->volume.uuid, serve->local->own, version,
			  backing_of(&serve->volume.array->source, members), ret);
}

/* Loads the copies of what is not open. Returns the count of bytes to which those of the index belong. */
static _Atomic uint64_t *local_load_copies(struct serve *serve, const struct version *version, struct backing backing,
					   struct opened_version *opened)
{
	_Atomic uint64_t *count = &serve->history.index_read;

	if (opened->index)
		count = &serve->history.index_shared;
	else if (serve->local && local_load_copy(serve, version, COPY_INDEX, backing, opened) == 0)
		count = &serve->history.index_copied;
	if (serve->local && !opened->block_sums && version->block_sums.length)
		(void)local_load_copy(serve, version, COPY_BLOCK_SUMS, backing, opened);
	return count;
}

int local_load(struct serve *serve, const struct version *version, const struct members *members,
	       struct opened_version *opened, struct error *err)
{
	const struct backing backing = backing_of(&serve->volume.array->source, members);
	_Atomic uint64_t *count = local_load_copies(serve, version, backing, opened);
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

void local_keep(struct serve *serve, const struct catalogue *catalogue, struct generation *generation)
{
	if (serve->local)
		copier_post(serve->local->copier, catalogue, generation);
}

int local_folder(const struct local *local)
{
	return local->folder;
}
