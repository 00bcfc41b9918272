/* SPDX-License-Identifier: MIT */
/* Climbs from a path to the directory that has .datasetfs, or to the topmost one that is mounted, and asks there. */
#include "lib/mounted/mounted_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/format.h"
#include "datasetfs/control.h"
#include "datasetfs/format.h"
#include "image/catalogue/version.h"
#include "lib/beneath.h"
#include "lib/question.h"

#define PLACE_FUSE 0x65735546 /* FUSE_SUPER_MAGIC */

/* --- finding the mount --- */

static bool mounted_place_is(int directory)
{
	struct error ignored;
	int fd = beneath_open(directory, DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_VERSION, O_PATH, false, &ignored);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Cuts a path from realpath(3) to its parent; false: it has none. */
static bool mounted_place_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !slash[1])
		return false;
	slash[slash == path] = 0;
	return true;
}

/* Takes the topmost directory if it is one of a version, mounted without the mount's root. */
static int mounted_place_part(int *top, int *ret)
{
	struct dsfs_version_facts facts;
	struct error ignored;
	struct stat st;
	int r;

	if (*top < 0 || fstat(*top, &st) < 0 || !question_is_part(&st))
		return -ENOTTY;
	r = question_ask(*top, DSFS_IOC_VERSION, &facts, &ignored);
	if (r == 0)
		*ret = take_fd(top);
	return r == -EACCES || r == 0 ? r : -ENOTTY;
}

static int mounted_place_climb(char *path, dev_t device, int *ret)
{
	auto_close int top = -1;
	struct stat st;

	do {
		auto_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0 && errno != ENOTDIR)
			return -errno;
		if (fd < 0)
			continue;
		if (fstat(fd, &st) < 0 || st.st_dev != device)
			break;
		if (mounted_place_is(fd)) {
			*ret = take_fd(&fd);
			return 0;
		}
		close_fd(&top);
		top = take_fd(&fd);
	} while (mounted_place_up(path));
	return mounted_place_part(&top, ret);
}

static int mounted_place_failed(const char *where, int r, struct error *err)
{
	if (r == -ENOTCONN || r == -ECONNABORTED)
		return error_set(err, -ENOTCONN,
				 "the daemon of the mount '%s' has ended: unmount it and mount it again",
				 where);
	return error_set(err, r, "'%s': %s", where, strerror(-r));
}

int mounted_place_open(const char *where, int *ret, struct error *err)
{
	auto_free char *path = realpath(where, NULL);
	struct statfs fs;
	struct stat st;
	int r;

	/* stat(2) of a mount whose daemon has ended may be answered from a cache; statfs(2) never is. */
	if (!path || stat(path, &st) < 0 || statfs(path, &fs) < 0)
		return mounted_place_failed(where, -errno, err);
	r = fs.f_type == PLACE_FUSE ? mounted_place_climb(path, st.st_dev, ret) : -ENOTTY;
	if (r == -ENOTTY)
		return error_set(err, r, "'%s' is not on a datasetfs mount", where);
	return r < 0 ? mounted_place_failed(where, r, err) : 0;
}

/* --- its versions --- */

static int mounted_place_check(const struct dsfs_version_facts *facts, struct error *err)
{
	int r = 0;

	if (!memchr(facts->label, 0, sizeof(facts->label)))
		r = error_set(err, -EINVAL, "a label without an end");
	if (r == 0)
		r = version_check_label(facts->label, err);
	if (r == 0 && (facts->sequence < 1 || facts->sequence > DSFS_SEQUENCE_MAX))
		r = error_set(err, -EINVAL, "sequence %" PRIu64, facts->sequence);
	if (r == 0 && (!facts->inodes || facts->inodes >> DSFS_ORDINAL_BITS))
		r = error_set(err, -EINVAL, "%" PRIu64 " inodes", facts->inodes);
	return r < 0 ? error_wrap(err, -EBADMSG, "a version that the mount describes") : 0;
}

static int mounted_place_take(const struct dsfs_version_facts *facts, struct dsfs_info *ret, struct error *err)
{
	int r = mounted_place_check(facts, err);

	if (r < 0)
		return r;
	*ret = (struct dsfs_info){
		.size = sizeof(*ret),
		.sequence = facts->sequence,
		.files = facts->files,
		.bytes = facts->bytes,
		.ids = facts->inodes,
	};
	memcpy(ret->label, facts->label, sizeof(ret->label));
	memcpy(ret->uuid, facts->uuid, sizeof(ret->uuid));
	format_digest(facts->digest, ret->digest);
	return 0;
}

int mounted_place_version(int mount, struct dsfs_info *ret, struct error *err)
{
	struct dsfs_version_facts facts = { 0 };
	int r = question_ask(mount, DSFS_IOC_VERSION, &facts, err);

	return r < 0 ? r : mounted_place_take(&facts, ret, err);
}

/* Hands on the versions of one answer, and notes the last one in it for the next question. */
static int mounted_place_each(struct dsfs_version_list *list, uint64_t current,
			      int (*each)(void *argument, const struct dsfs_info *version, bool is_current),
			      void *argument, struct error *err)
{
	struct dsfs_info info;
	int r = 0;

	if (list->count > DSFS_VERSION_LIST_MOST)
		return error_set(err, -EBADMSG, "the mount describes %" PRIu32 " versions at once, expected at most %d",
				 list->count, DSFS_VERSION_LIST_MOST);
	for (uint32_t i = 0; r == 0 && i < list->count; i++) {
		r = mounted_place_take(&list->versions[i], &info, err);
		if (r == 0 && info.sequence <= list->after)
			r = error_set(err, -EBADMSG, "the mount describes sequence %" PRIu64 " after %" PRIu64,
				      info.sequence, list->after);
		if (r < 0)
			return r;
		list->after = info.sequence;
		r = each(argument, &info, info.sequence == current);
	}
	return r;
}

int mounted_place_versions(int mount, int (*each)(void *argument, const struct dsfs_info *version, bool is_current),
			   void *argument, struct error *err)
{
	struct dsfs_version_list list = { 0 };
	uint64_t current = 0;
	int r;

	do {
		r = question_ask(mount, DSFS_IOC_VERSIONS, &list, err);
		current = current ? current : list.current;
		if (r == 0)
			r = mounted_place_each(&list, current, each, argument, err);
	} while (r == 0 && list.count == DSFS_VERSION_LIST_MOST);
	return r;
}
