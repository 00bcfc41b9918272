/* SPDX-License-Identifier: MIT */
/* Opens, refreshes and closes handles. */
#include "lib/api/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "device/locate.h"
#include "lib/api/opening.h"
#include "lib/forked.h"
#include "lib/reason.h"

struct dsfs {
	struct query query; /* with copies of the caller's strings */
	const char *place; /* query.where as an absolute path: the program may change its directory */
	pthread_mutex_t refreshing;
	pthread_mutex_t lock; /* guards opened until a use of it is counted */
	struct opened *opened;
	_Atomic uint64_t generation; /* of the process whose locks these are */
};

/* Renews the locks in a forked child: threads that the child does not have may hold them. */
static void handle_adopt(struct dsfs *fs)
{
	uint64_t generation = forked_generation();

	if (atomic_load_explicit(&fs->generation, memory_order_acquire) == generation)
		return;
	forked_lock();
	if (atomic_load(&fs->generation) != generation) {
		fs->lock = fs->refreshing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		atomic_store_explicit(&fs->generation, generation, memory_order_release);
	}
	forked_unlock();
}

struct opened *handle_get(struct dsfs *fs)
{
	struct opened *opened;

	handle_adopt(fs);
	pthread_mutex_lock(&fs->lock);
	opened = fs->opened;
	if (opened)
		atomic_fetch_add_explicit(&opened->uses, 1, memory_order_relaxed);
	pthread_mutex_unlock(&fs->lock);
	return opened;
}

void handle_put(struct opened *opened)
{
	if (atomic_fetch_sub_explicit(&opened->uses, 1, memory_order_acq_rel) == 1)
		opened->backend->close(opened);
}

static int handle_copy(const char *text, const char **ret, struct error *err)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? error_no_memory(err) : 0;
}

/* Makes the name absolute for later calls; reasons of the first opening show it as the caller wrote it. */
static int handle_place(const char *where, const char **ret, struct error *err)
{
	auto_free char *folder = NULL;
	char *place;

	if (*where == '/' || locate_is_identity(where))
		return handle_copy(where, ret, err);
	folder = getcwd(NULL, 0);
	if (!folder)
		return error_errno(err, "the current directory");
	if (asprintf(&place, "%s/%s", folder, where) < 0)
		return error_no_memory(err);
	*ret = place;
	return 0;
}

#define HANDLE_OPTIONS     sizeof(struct dsfs_options) /* size in the first release: no program has a smaller one */
#define HANDLE_OPTIONS_MAX 4096u

/* Copies options of this or another release. Fields of a later release that this one does not know must be 0. */
static int handle_options(const struct dsfs_options *options, struct dsfs_options *ret, struct error *err)
{
	const uint8_t *bytes = (const uint8_t *)options;
	size_t size = options->size;

	if (size < HANDLE_OPTIONS || size > HANDLE_OPTIONS_MAX)
		return error_set(err, -EINVAL, "dsfs_options.size is %zu, expected %zu", size, sizeof(*ret));
	for (size_t i = sizeof(*ret); i < size; i++)
		if (bytes[i])
			return error_set(err, -E2BIG, "dsfs_options asks for something that this release (%s) does not "
					 "know, at byte %zu of %zu", dsfs_release(), i, size);
	memcpy(ret, options, size < sizeof(*ret) ? size : sizeof(*ret));
	return 0;
}

/* Makes the names absolute, as the files are read again for each version. */
static int handle_trust(struct dsfs *fs, const struct dsfs_options *known, struct error *err)
{
	int r = 0;

	if (known->revoked && !known->trust)
		return error_set(err, -EINVAL, "dsfs_options.revoked without trust, which says who may sign");
	if (known->trust)
		r = handle_place(known->trust, &fs->query.trust.signers, err);
	if (r == 0 && known->revoked)
		r = handle_place(known->revoked, &fs->query.trust.revoked, err);
	return r;
}

static int handle_query(struct dsfs *fs, const char *where, const struct dsfs_options *options, struct error *err)
{
	struct dsfs_options known = { .size = sizeof(known) };
	int r = 0;

	if (!where || !*where)
		return error_set(err, -EINVAL, "no name, expected that of a volume or a path on a mount");
	if (options)
		r = handle_options(options, &known, err);
	if (r < 0)
		return r;
	if (known.flags & ~(DSFS_OPEN_DIRECT | DSFS_OPEN_MOUNT) ||
	    known.flags == (DSFS_OPEN_DIRECT | DSFS_OPEN_MOUNT))
		return error_set(err, -EINVAL,
				 "dsfs_options.flags is %#x, expected at most one of DSFS_OPEN_DIRECT and "
				 "DSFS_OPEN_MOUNT", known.flags);
	fs->query.flags = known.flags;
	r = handle_copy(where, &fs->query.where, err);
	if (r == 0)
		r = handle_place(where, &fs->place, err);
	if (r == 0)
		r = handle_copy(known.version, &fs->query.version, err);
	if (r == 0)
		r = handle_copy(known.digest, &fs->query.digest, err);
	return r < 0 ? r : handle_trust(fs, &known, err);
}

static void handle_settle(struct dsfs *fs)
{
	const char *where = fs->query.where;

	fs->query.where = fs->place;
	fs->place = where;
}

static void handle_free(struct dsfs *fs)
{
	free((void *)fs->query.where);
	free((void *)fs->place);
	free((void *)fs->query.version);
	free((void *)fs->query.digest);
	free((void *)fs->query.trust.signers);
	free((void *)fs->query.trust.revoked);
	free(fs);
}

int dsfs_open(const char *where, const struct dsfs_options *options, struct dsfs **ret)
{
	struct error *err = reason_begin();
	struct dsfs *fs = calloc(1, sizeof(*fs));
	int r;

	if (!fs)
		return error_no_memory(err);
	fs->lock = fs->refreshing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	r = forked_watch(err);
	if (r == 0)
		r = handle_query(fs, where, options, err);
	if (r == 0)
		r = opening_open(&fs->query, &fs->opened, err);
	if (r < 0) {
		handle_free(fs);
		return r;
	}
	handle_settle(fs);
	atomic_store(&fs->generation, forked_generation());
	*ret = fs;
	return 0;
}

void dsfs_close(struct dsfs *fs)
{
	if (!fs)
		return;
	handle_put(fs->opened);
	handle_free(fs);
}

void handle_forget_calls(struct dsfs *fs)
{
	handle_adopt(fs);
	pthread_mutex_lock(&fs->lock);
	if (fs->opened)
		atomic_store(&fs->opened->uses, 1);
	pthread_mutex_unlock(&fs->lock);
}

int dsfs_info(struct dsfs *fs, struct dsfs_info *ret)
{
	struct error *err = reason_begin();
	struct opened *opened;
	uint32_t size = ret->size;

	if (size < offsetof(struct dsfs_info, uuid) || size > 65536)
		return error_set(err, -EINVAL, "dsfs_info.size is %u, expected %zu", size, sizeof(*ret));
	opened = handle_get(fs);
	memset(ret, 0, size);
	memcpy(ret, &opened->info, size < sizeof(*ret) ? size : sizeof(*ret));
	ret->size = size;
	handle_put(opened);
	return 0;
}

/* Gives the handle a new version and returns the one to be put: the former, with which calls in progress end, or the
 * new one if the handle was given up meanwhile. */
static struct opened *handle_swap(struct dsfs *fs, struct opened *opened)
{
	struct opened *former;

	pthread_mutex_lock(&fs->lock);
	former = fs->opened;
	if (former)
		fs->opened = opened;
	pthread_mutex_unlock(&fs->lock);
	return former ? former : opened;
}

void handle_end(struct dsfs *fs)
{
	struct opened *opened;

	handle_adopt(fs);
	pthread_mutex_lock(&fs->lock);
	opened = fs->opened;
	fs->opened = NULL;
	pthread_mutex_unlock(&fs->lock);
	if (opened)
		handle_put(opened);
}

int dsfs_refresh(struct dsfs *fs)
{
	struct error *err = reason_begin();
	struct opened *opened, *next = NULL, *former = NULL;
	bool is_other;
	int r;

	handle_adopt(fs);
	pthread_mutex_lock(&fs->refreshing);
	opened = handle_get(fs);
	r = opened ? opening_renew(opened, &fs->query, &next, err) : error_set(err, -EBADF, "the handle is closed");
	if (r == 0 && next)
		former = handle_swap(fs, next);
	is_other = former && !lib_is_same(&former->info, &next->info);
	pthread_mutex_unlock(&fs->refreshing);
	if (former)
		handle_put(former);
	if (opened)
		handle_put(opened);
	return r < 0 ? r : is_other;
}
