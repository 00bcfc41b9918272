/* SPDX-License-Identifier: MIT */
/* Opens a version through a mount: by its directory in .datasetfs/versions, which stays the same, or where that cannot
 * be opened, by the mount's root. */
#include "lib/mounted/mounted.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "datasetfs/control.h"
#include "lib/beneath.h"
#include "lib/high.h"
#include "lib/mounted/mounted_names.h"
#include "lib/mounted/mounted_place.h"
#include "lib/mounted/mounted_version.h"
#include "lib/question.h"

/* Attempts, as the mount may switch, or a version be moved, in between: the kernel knows a label for 10 s. */
#define OPEN_TRIES 21
#define OPEN_PAUSE 1000u /* µs after the first attempt; it doubles, up to a second */

/* --- the version --- */

struct mounted_choice {
	const char *label;
	struct dsfs_info info;
};

static int mounted_choose(void *argument, const struct dsfs_info *version, bool is_current)
{
	struct mounted_choice *choice = argument;

	(void)is_current;
	if (strcmp(version->label, choice->label) != 0)
		return 0;
	choice->info = *version;
	return 1;
}

/* Finds the version asked for. *is_served: it is the one at the root of the mount, or the folder's. */
static int mounted_find(int mount, const struct query *query, struct dsfs_info *ret, bool *is_served, struct error *err)
{
	struct mounted_choice choice = { .label = query->version };
	struct stat st;
	int r = mounted_place_version(mount, ret, err);

	*is_served = r == 0 && (!query->version || !strcmp(ret->label, query->version));
	if (r < 0 || *is_served)
		return r;
	if (fstat(mount, &st) == 0 && question_is_part(&st))
		return lib_refuse_version(query, ret->label, err);
	r = mounted_place_versions(mount, mounted_choose, &choice, err);
	if (r == 0)
		r = error_set(err, -ENOENT, "the volume has no version '%s'", query->version);
	if (r > 0)
		*ret = choice.info;
	return r < 0 ? r : 0;
}

static int mounted_check_digest(const struct dsfs_info *info, const struct query *query, struct error *err)
{
	if (!query->digest || !strcasecmp(query->digest, info->digest))
		return 0;
	if (strncmp(query->digest, "sha256:", 7) != 0 || strlen(query->digest) != strlen(info->digest) ||
	    strspn(query->digest + 7, "0123456789abcdefABCDEF") != strlen(query->digest + 7))
		return error_set(err, -EINVAL, "digest '%s': expected sha256: and 64 hexadecimal digits",
				 query->digest);
	return error_set(err, -EBADMSG, "version '%s' has the digest %s, expected %s", info->label, info->digest,
			 query->digest);
}

/* --- its root --- */

/* Opens the version's directory. -ESTALE: its label names a later version by now. */
static int mounted_pin(int mount, const struct dsfs_info *info, int *ret, struct error *err)
{
	auto_close int fd = -1;
	auto_free char *path = NULL;
	struct stat st;

	if (asprintf(&path, DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_VERSIONS "/%s", info->label) < 0) {
		path = NULL;
		return error_no_memory(err);
	}
	fd = beneath_open(mount, path, O_PATH | O_DIRECTORY, false, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", path);
	if (st.st_ino != info->root)
		return error_set(err, -ESTALE, "'%s' in the mount is inode %" PRIu64 ", expected %" PRIu64, path,
				 (uint64_t)st.st_ino, info->root);
	high_move(&fd);
	*ret = take_fd(&fd);
	return 0;
}

/* Makes the version; takes mount and root on success. */
static int mounted_new(int mount, int root, const struct dsfs_info *info, struct opened **ret, struct error *err)
{
	struct mounted_version *mounted = calloc(1, sizeof(*mounted));
	bool is_part = info->root != lib_first_id(info);
	struct stat st;
	int r;

	if (!mounted)
		return error_no_memory(err);
	r = fstat(mount, &st) < 0 ? error_errno(err, "the root of the mount") : 0;
	if (r == 0)
		r = mounted_names_new(info->root, is_part, &mounted->names, err);
	if (r < 0) {
		free(mounted);
		return r;
	}
	mounted->opened.backend = &mounted_backend;
	mounted->opened.info = *info;
	atomic_store(&mounted->opened.uses, 1);
	mounted->mount = mount;
	mounted->root = root >= 0 ? root : mount;
	mounted->is_pinned = root >= 0 || is_part;
	mounted->device = st.st_dev;
	*ret = &mounted->opened;
	return 0;
}

/* Whether the mount still serves a version whose label leads elsewhere: it was moved, or published anew. */
static bool mounted_is_still(int mount, const struct dsfs_info *info)
{
	struct dsfs_info now;

	return mounted_place_version(mount, &now, NULL) == 0 && lib_is_same(&now, info);
}

/* Opens the root of the version that was found, if it has one of its own. Sets info->root. */
static int mounted_root(int mount, bool is_served, struct dsfs_info *info, int *ret, struct error *err)
{
	struct stat st;
	int r;

	if (fstat(mount, &st) < 0)
		return error_errno(err, "the mount");
	if (question_is_part(&st))
		return lib_set_root(info, st.st_ino, err);
	info->root = lib_first_id(info);
	r = mounted_pin(mount, info, ret, err);
	if (r == -ESTALE)
		return is_served && mounted_is_still(mount, info) ? 0 : -EAGAIN;
	/* noversions, or the user's share of versions is used up */
	return r < 0 && r != -ENOMEM && is_served ? 0 : r;
}

/* Opens the version once. -EAGAIN: the mount has switched meanwhile, or the label still leads to a former place. */
static int mounted_try(int mount, const struct query *query, const char *why, struct opened **ret, struct error *err)
{
	auto_close int root = -1;
	struct dsfs_info info;
	bool is_served;
	int r = mounted_find(mount, query, &info, &is_served, err);

	if (r == 0)
		r = mounted_check_digest(&info, query, err);
	if (r < 0)
		return r;
	info.way = DSFS_WAY_MOUNT;
	snprintf(info.why, sizeof(info.why), "%s", why);
	r = mounted_root(mount, is_served, &info, &root, err);
	if (r == 0)
		r = mounted_new(mount, root, &info, ret, err);
	if (r == 0)
		take_fd(&root);
	return r;
}

static int mounted_try_again(int mount, const struct query *query, const char *why, struct opened **ret,
			     struct error *err)
{
	useconds_t pause = OPEN_PAUSE;
	int r = mounted_try(mount, query, why, ret, err);

	for (int i = 1; i < OPEN_TRIES && r == -EAGAIN; i++) {
		usleep(pause);
		pause = pause < 512 * OPEN_PAUSE ? 2 * pause : 1000 * OPEN_PAUSE;
		r = mounted_try(mount, query, why, ret, err);
	}
	return r == -EAGAIN ? -ESTALE : r;
}

int mounted_open(const struct query *query, const char *why, struct opened **ret, struct error *err)
{
	auto_close int mount = -1;
	int r;

	if (query->trust.signers)
		return error_set(err, -EKEYREJECTED, "'%s': who signed what comes through a mount cannot be told, "
				 "and past it nothing can be read: %s", query->where, why);
	r = mounted_place_open(query->where, &mount, err);
	if (r < 0)
		return r;
	high_move(&mount);
	r = mounted_try_again(mount, query, why, ret, err);
	if (r == 0)
		take_fd(&mount);
	return r;
}

int mounted_renew(struct opened *opened, const struct query *query, struct opened **ret, struct error *err)
{
	struct mounted_version *mounted = (struct mounted_version *)opened;
	const struct dsfs_info *info = &opened->info;
	struct dsfs_info now;
	bool is_served;
	struct error ignored;

	if (mounted_find(mounted->mount, query, &now, &is_served, &ignored) == 0 && lib_is_same(&now, info)) {
		*ret = NULL;
		return 0;
	}
	/* The path may lead to another mount by now. */
	return mounted_open(query, info->why, ret, err);
}

/* Closes fd unless the program has closed it and opened something else. */
static void mounted_close_own(const struct mounted_version *mounted, int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_dev == mounted->device)
		close(fd);
}

void mounted_close(struct opened *opened)
{
	struct mounted_version *mounted = (struct mounted_version *)opened;

	mounted_close_own(mounted, mounted->mount);
	if (mounted->root != mounted->mount)
		mounted_close_own(mounted, mounted->root);
	mounted_names_free(mounted->names);
	free(mounted);
}
