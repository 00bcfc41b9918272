/* SPDX-License-Identifier: MIT */
/* Puts the new mount below the old one and then detaches that, by MOVE_MOUNT_BENEATH of move_mount(2): there is no
 * moment without a mount. Names the old one by its root, as a path may lead to another one by then. */
#include "kernelmount/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fdname.h"
#include "base/mountinfo.h"
#include "base/program/runtime.h"
#include "base/program/step.h"
#include "device/mount_record.h"

#ifndef MOVE_MOUNT_BENEATH
#define MOVE_MOUNT_BENEATH 0x200
#endif

void mountpoint_close(struct mountpoint *mountpoint)
{
	close_fd(&mountpoint->fd);
	close_fd(&mountpoint->folder);
}

/* Finds the number of a mount in the table. */
static int mountpoint_number(int fd, uint64_t *ret, struct error *err)
{
	struct statx info;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &info) < 0)
		return error_errno(err, "cannot look at its mount");
	*ret = info.stx_mnt_id;
	return 0;
}

/* ---- the table ---- */

/* A search for a mount by its number, for the one that it is on, and for one that is on it. */
struct mountpoint_search {
	struct mountpoint *found;
	uint64_t parent; /* 0: not found yet */
	bool is_whole;   /* its whole tree is mounted there */
	bool has_root;   /* the root of the mount namespace is its parent */
	char child[PATH_MAX];
};

static int mountpoint_see(void *argument, const struct mountinfo *info, struct error *err)
{
	struct mountpoint_search *search = argument;

	(void)err;
	if (info->id != search->found->number)
		return 0;
	search->parent = info->parent;
	search->is_whole = !strcmp(info->root, "/");
	search->found->device = info->device;
	snprintf(search->found->path, sizeof(search->found->path), "%s", info->point);
	return 1;
}

static int mountpoint_see_others(void *argument, const struct mountinfo *info, struct error *err)
{
	struct mountpoint_search *search = argument;

	(void)err;
	if (info->id == search->parent && info->parent == info->id)
		search->has_root = true;
	if (info->id == search->parent && !strcmp(info->point, search->found->path))
		search->found->beneath = info->device;
	if (info->parent == search->found->number && info->id != info->parent)
		snprintf(search->child, sizeof(search->child), "%s", info->point);
	return 0;
}

static int mountpoint_search_for(struct mountpoint_search *search, struct error *err)
{
	int r = mountinfo_each(mountpoint_see, search, err);

	if (r == 0)
		return error_set(err, -ENOENT, "its mount is not in /proc/self/mountinfo: it was unmounted, or is of "
				 "another mount namespace");
	return r < 0 ? r : mountinfo_each(mountpoint_see_others, search, err);
}

static int mountpoint_check_child(const struct mountpoint_search *search, struct error *err)
{
	return *search->child ? error_set(err, -EBUSY, "'%s' is mounted in it, and would go with it: unmount that "
					  "first", search->child) : 0;
}

static int mountpoint_find(struct mountpoint *found, struct error *err)
{
	struct mountpoint_search search = { .found = found };
	int r = mountpoint_search_for(&search, err);

	if (r < 0)
		return r;
	if (!search.is_whole)
		return error_set(err, -EOPNOTSUPP, "only a folder of the data set is mounted on '%s', as by 'mount "
				 "--bind': mount it again instead", found->path);
	r = mountpoint_check_child(&search, err);
	if (r < 0)
		return r;
	if (search.has_root)
		return error_set(err, -EOPNOTSUPP, "the kernel switches no mount that lies right on the root of its "
				 "mount namespace, as on an initramfs: it needs a mount between them, such as 'mount "
				 "--bind DIR DIR' makes");
	return 0;
}

/* ---- opening ---- */

/* Opens what is on top of the mountpoint, which must be the mount that was found. */
static int mountpoint_open_top(struct mountpoint *found, struct error *err)
{
	uint64_t number = 0;
	int r;

	close_fd(&found->fd);
	found->fd = open(found->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (found->fd < 0)
		return error_errno(err, "'%s'", found->path);
	r = mountpoint_number(found->fd, &number, err);
	if (r == 0 && number != found->number)
		return error_set(err, -EBUSY, "something else is mounted over '%s': unmount that first", found->path);
	if (r == 0)
		r = mount_record_id(found->fd, "", &found->id, err);
	if (r < 0)
		return r;
	found->folder = openat(found->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return found->folder < 0 ? error_errno(err, "the directory of '%s'", found->path) : 0;
}

static int mountpoint_try(const char *path, uint64_t *ret_number, struct mountpoint *ret, struct error *err)
{
	auto_mountpoint struct mountpoint found = MOUNTPOINT_NONE;
	int r;

	found.fd = open(path, O_PATH | O_CLOEXEC);
	if (found.fd < 0)
		return error_errno(err, "cannot open it");
	r = mountpoint_number(found.fd, &found.number, err);
	*ret_number = found.number;
	if (r == 0)
		r = mountpoint_find(&found, err);
	if (r == 0)
		r = mountpoint_open_top(&found, err);
	if (r < 0)
		return r;
	*ret = found;
	found = MOUNTPOINT_NONE;
	return 0;
}

static bool mountpoint_is_still(const char *path, uint64_t number)
{
	auto_close int fd = open(path, O_PATH | O_CLOEXEC);
	uint64_t now = 0;

	return fd < 0 || mountpoint_number(fd, &now, NULL) < 0 || now == number;
}

/* Another switch may end between the look at the path and that at the table. */
int mountpoint_open(const char *path, struct mountpoint *ret, struct error *err)
{
	uint64_t number = 0;
	int r;

	do
		r = mountpoint_try(path, &number, ret, err);
	while (r < 0 && !mountpoint_is_still(path, number));
	return r;
}

static int mountpoint_is_gone(const struct mountpoint *mountpoint, struct error *err)
{
	return error_set(err, -ENOENT, "'%s' was unmounted meanwhile", mountpoint->path);
}

int mountpoint_renew(struct mountpoint *mountpoint, struct error *err)
{
	struct mountpoint found;
	int r = mountpoint_open(mountpoint->path, &found, err);

	if (r < 0)
		return r;
	if (strcmp(found.path, mountpoint->path) != 0) {
		mountpoint_close(&found);
		return mountpoint_is_gone(mountpoint, err);
	}
	mountpoint_close(mountpoint);
	*mountpoint = found;
	return 0;
}

int mountpoint_lock(struct mountpoint *mountpoint, int *ret_lock, struct error *err)
{
	const char *name = strrchr(mountpoint->path, '/') + 1;
	auto_close int lock = -1;
	int r = runtime_open_places(&lock, err);

	if (r == 0)
		r = runtime_lock_place(lock, mountpoint->folder, name, mountpoint->path, err);
	if (r == 0)
		r = mountpoint_renew(mountpoint, err);
	if (r == 0)
		*ret_lock = take_fd(&lock);
	return r;
}

/* ---- the exchange ---- */

static int mountpoint_refused(const struct mountpoint *mountpoint, struct error *err)
{
	if (errno == ENOENT)
		return mountpoint_is_gone(mountpoint, err);
	if (errno != EINVAL)
		return error_errno(err, "cannot mount below '%s'", mountpoint->path);
	return error_set(err, -EINVAL, "the kernel lets nothing be mounted below '%s', which is locked, as it is of "
			 "another user namespace, or was unmounted meanwhile: switch it in the mount namespace where "
			 "it was mounted", mountpoint->path);
}

/* Looks at the mount once more: what was mounted in it meanwhile would be detached with it. parent: the mount right
 * below it; 0: any. */
static int mountpoint_look_again(const struct mountpoint *mountpoint, uint64_t parent, struct error *err)
{
	struct mountpoint found = *mountpoint;
	struct mountpoint_search search = { .found = &found };
	int r = mountpoint_search_for(&search, err);

	if (r == -ENOENT)
		return mountpoint_is_gone(mountpoint, err);
	if (r < 0)
		return r;
	if (!parent || search.parent == parent)
		return mountpoint_check_child(&search, err);
	return error_set(err, -EBUSY, "something was mounted over '%s' meanwhile: unmount that, and the new version is "
			 "there, and below it the old one", mountpoint->path);
}

int mountpoint_detach(const struct mountpoint *mountpoint, struct error *err)
{
	char root[FDNAME_LINK_SIZE];

	fdname_link(mountpoint->fd, root);
	if (umount2(root, MNT_DETACH) == 0)
		return 0;
	return errno == EINVAL ? mountpoint_is_gone(mountpoint, err) :
				 error_errno(err, "cannot unmount '%s'", mountpoint->path);
}

/* Detaches the tree, which is seen since the mount above it has gone, unless something is mounted in it. */
static bool mountpoint_withdraw(int tree)
{
	struct mountpoint found = { .fd = tree };
	struct mountpoint_search search = { .found = &found };

	return mountpoint_number(tree, &found.number, NULL) == 0 && mountpoint_search_for(&search, NULL) == 0 &&
	       !*search.child && mountpoint_detach(&found, NULL) == 0;
}

int mountpoint_exchange(const struct mountpoint *mountpoint, int tree, bool *ret_is_below, struct error *err)
{
	uint64_t number = 0;
	int r = mountpoint_number(tree, &number, err);

	if (r == 0)
		r = mountpoint_look_again(mountpoint, 0, err);
	*ret_is_below = false;
	if (r < 0)
		return r;
	if (move_mount(tree, "", mountpoint->fd, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH | MOVE_MOUNT_BENEATH) < 0)
		return mountpoint_refused(mountpoint, err);
	step("kernel-beneath");
	r = mountpoint_look_again(mountpoint, number, err);
	if (r == 0)
		r = mountpoint_detach(mountpoint, err);
	*ret_is_below = r < 0 && !(r == -ENOENT && mountpoint_withdraw(tree));
	return r;
}
