/* SPDX-License-Identifier: MIT */
/* Checks a prefetch command as a whole before it hands any file to the thread that reads ahead. */
#include "serve/control/prefetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "datasetfs/control.h"
#include "image/inode.h"
#include "serve/readahead/announced.h"
#include "serve/readahead/pick.h"
#include "serve/request/caller.h"
#include "serve/request/reply.h"
#include "serve/serve.h"
#include "supervisor/keep.h"

static_assert(DSFS_PREFETCH_ORDINAL_BITS == DSFS_ORDINAL_BITS, "numbers of files are st_ino");

#define PREFETCH_HEAD offsetof(struct dsfs_prefetch, files) /* size of the answer */

/* A command that is being carried out. */
struct prefetch {
	struct worker *worker;
	struct serve *serve;
	struct generation *generation; /* the version that the mount serves */
	struct caller_reader caller;
	bool may_switch; /* the caller may switch the mount; false: not known, or it may not */
	struct dsfs_prefetch arguments; /* sent back as the answer */
	struct upcoming_file files[DSFS_PREFETCH_MOST]; /* size 0: nothing to read */
};

static int prefetch_check_head(const struct prefetch *prefetch, struct error *err)
{
	const struct dsfs_prefetch *arguments = &prefetch->arguments;
	const struct version *version = &prefetch->generation->opened.version;

	if (!prefetch->serve->options.prefetch)
		return error_set(err, -EOPNOTSUPP, "the mount has the option prefetch=off");
	if (arguments->flags)
		return error_set(err, -EINVAL, "command with unknown flags %#x", arguments->flags);
	if (arguments->count > DSFS_PREFETCH_MOST)
		return error_set(err, -EINVAL, "%" PRIu32 " files, expected at most %u", arguments->count,
				 DSFS_PREFETCH_MOST);
	if (memcmp(arguments->digest, version->digest, sizeof(version->digest)) != 0)
		return error_set(err, -ESTALE, "the files are of a version with another digest than '%s', which the "
				 "mount serves", version->label);
	return 0;
}

static bool prefetch_may_read(struct prefetch *prefetch, const struct inode *inode)
{
	struct error ignored;

	if (prefetch->may_switch || caller_may_read(&prefetch->caller, inode->mode, inode->uid, inode->gid))
		return true;
	prefetch->may_switch = caller_check(prefetch->serve, prefetch->caller.request, &ignored) == 0;
	return prefetch->may_switch;
}

static struct upcoming_file prefetch_file(const struct index *index, const struct inode *inode)
{
	const struct run_place place = pick_where(index, inode);

	return (struct upcoming_file){ .address = place.address,
				       .ordinal = inode->ordinal,
				       .stored = (uint32_t)place.stored,
				       .size = pick_is_wanted(inode) ? (uint32_t)inode->size & 0xffffff : 0 };
}

/* The error is the same for a directory and for a file that the caller may not read, so it does not tell which. */
static int prefetch_check_file(struct prefetch *prefetch, uint64_t number, struct upcoming_file *ret,
			       struct error *err)
{
	uint64_t ordinal = nodeid_ordinal(number);
	struct inode inode;

	if (!nodeid_may_be_of(number, prefetch->generation->sequence))
		return error_set(err, -ESTALE, "%#" PRIx64 " is no file of version '%s', which the mount serves",
				 number, prefetch->generation->opened.version.label);
	if (inode_get(prefetch->generation->opened.index, ordinal, &inode, err) < 0 || !S_ISREG(inode.mode) ||
	    !prefetch_may_read(prefetch, &inode))
		return error_set(err, -EACCES, "%#" PRIx64 " is no regular file that user %" PRIu32 " may read",
				 number, prefetch->caller.request->wire.uid);
	*ret = prefetch_file(prefetch->generation->opened.index, &inode);
	return 0;
}

/* A number of 0 stands for a file that is not on the mount, and is skipped. */
static int prefetch_check_files(struct prefetch *prefetch, struct error *err)
{
	const uint64_t *numbers = prefetch->arguments.files;
	int r = 0;

	for (uint32_t i = 0; i < prefetch->arguments.count && r == 0; i++)
		if (numbers[i])
			r = prefetch_check_file(prefetch, numbers[i], &prefetch->files[i], err);
	if (r == 0 && channel_is_answered(prefetch->caller.request))
		r = error_set(err, -EINTR, "its process was killed");
	return r;
}

/* Hands the files on. Users who may switch have a larger share, and one is reserved for them. */
static void prefetch_take(struct prefetch *prefetch)
{
	struct dsfs_prefetch *arguments = &prefetch->arguments;
	const struct channel_request *request = prefetch->caller.request;
	const struct announced_files files = { prefetch->generation, prefetch->files, arguments->count };
	struct announced_user user = { caller_share(prefetch->serve, request), prefetch->may_switch };
	struct error ignored;

	user.may_switch |= caller_check(prefetch->serve, request, &ignored) == 0;
	arguments->taken = announced_add(prefetch->serve->announced, &user, &files, &arguments->credit);
}

static int prefetch_do(struct prefetch *prefetch)
{
	struct dsfs_prefetch *arguments = &prefetch->arguments;
	struct error err = { 0 };
	int r = prefetch_check_head(prefetch, &err);

	arguments->taken = arguments->credit = arguments->reserved = 0;
	arguments->restarts = keep_restarts(prefetch->serve->keep);
	if (r == 0)
		r = prefetch_check_files(prefetch, &err);
	if (r == 0)
		prefetch_take(prefetch);
	counter_add(&prefetch->worker->counters.prefetch_announced, arguments->taken);
	snprintf(arguments->reason, sizeof(arguments->reason), "%s", r < 0 ? err.reason : "");
	return r;
}

void prefetch_ioctl(struct worker *worker, struct channel_request *request)
{
	const struct fuse_ioctl_in *in = &request->wire.in.ioctl;
	struct prefetch prefetch = { .worker = worker, .serve = worker->serve, .caller.request = request };
	int result;

	if (request->wire.rest_length < sizeof(prefetch.arguments) || in->out_size < PREFETCH_HEAD) {
		reply_error(worker, request, -ENOTTY);
		return;
	}
	memcpy(&prefetch.arguments, request->wire.rest, sizeof(prefetch.arguments));
	prefetch.generation = serve_current(worker->serve);
	result = prefetch_do(&prefetch);
	caller_reader_free(&prefetch.caller);
	reply_ioctl(worker, request, result, &prefetch.arguments, PREFETCH_HEAD);
}
