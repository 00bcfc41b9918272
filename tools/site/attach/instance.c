/* SPDX-License-Identifier: MIT */
/* Paths are safe here: nobody but root may change the folder of the state. */
#include "attach/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach/uses.h"
#include "base/cleanup.h"
#include "base/program/utab.h"
#include "device/mount_record.h"

struct instance instance_of(const char *key, unsigned number)
{
	struct instance instance = { .number = number };

	snprintf(instance.key, sizeof(instance.key), "%s", key);
	snprintf(instance.path, sizeof(instance.path), STATE_FOLDER "/%s/%u", instance.key, number);
	snprintf(instance.mount, sizeof(instance.mount), "%s/" STATE_MOUNT, instance.path);
	return instance;
}

void instance_unit(const struct instance *instance, char ret[INSTANCE_UNIT_SIZE])
{
	snprintf(ret, INSTANCE_UNIT_SIZE, "datasetfs-attach@%s-%u.service", instance->key, instance->number);
}

int instance_parse(const char *name, struct instance *ret, struct error *err)
{
	char key[KEY_NAME_SIZE];
	unsigned number;
	int end = 0;

	if (sscanf(name, "%32[0-9a-f]-%u%n", key, &number, &end) != 2 || strlen(key) != KEY_NAME_SIZE - 1 || name[end])
		return error_set(err, -EINVAL, "'%s' is no name of a shared mount: expected 32 digits, '-' and "
				 "a number", name);
	*ret = instance_of(key, number);
	return 0;
}

/* ---- its folder ---- */

static const char *const instance_folders[] = { STATE_USERS, STATE_KEPT, STATE_MOUNT };
static const char *const instance_files[] = { STATE_STARTING, STATE_COMMAND };

static void instance_path(const struct instance *instance, const char *name, char ret[STATE_PATH_SIZE + 32])
{
	snprintf(ret, STATE_PATH_SIZE + 32, "%s/%s", instance->path, name);
}

int instance_make(const struct instance *instance, struct error *err)
{
	int r = state_make(AT_FDCWD, instance->path, err);
	char path[STATE_PATH_SIZE + 32];

	for (size_t i = 0; r == 0 && i < sizeof(instance_folders) / sizeof(*instance_folders); i++) {
		instance_path(instance, instance_folders[i], path);
		r = state_make(AT_FDCWD, path, err);
	}
	return r;
}

static int instance_lock(const struct instance *instance, int flags, int operation, int *ret, struct error *err)
{
	char path[STATE_PATH_SIZE + 32];
	auto_close int fd = -1;

	instance_path(instance, STATE_STARTING, path);
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return error_errno(err, "cannot open '%s'", path);
	if (flock(fd, operation) < 0)
		return error_errno(err, "cannot lock '%s'", path);
	*ret = take_fd(&fd);
	return 0;
}

int instance_begin(const struct instance *instance, int *ret, struct error *err)
{
	return instance_lock(instance, O_CREAT, LOCK_EX, ret, err);
}

/* Shared, as any number may wait. */
int instance_await(const struct instance *instance, struct error *err)
{
	struct error why = { 0 };
	auto_close int fd = -1;
	int r = instance_lock(instance, 0, LOCK_SH, &fd, &why);

	return r < 0 && r != -ENOENT ? error_pass(err, r, &why) : 0; /* -ENOENT: it has failed, and is removed */
}

bool instance_begins(const struct instance *instance)
{
	auto_close int fd = -1;

	return instance_lock(instance, 0, LOCK_SH | LOCK_NB, &fd, NULL) == -EAGAIN;
}

int64_t instance_age(const struct instance *instance)
{
	struct stat st;

	return lstat(instance->path, &st) < 0 ? 0 : time(NULL) - st.st_mtime;
}

/* ---- its binds ---- */

/* On machines where mounts are shared, as systemd makes them, a copy is shared with the mount: what is mounted in the
 * copy would appear in the places of all consumers. Linux before 5.12 leaves it so. */
static int instance_part(int tree, struct error *err)
{
	struct mount_attr attributes = { .propagation = MS_PRIVATE };

	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0 && errno != ENOSYS)
		return error_errno(err, "cannot make a copy of the mount private");
	return 0;
}

int instance_clone(const struct instance *instance, int *ret_tree, struct error *err)
{
	auto_close int tree = open_tree(AT_FDCWD, instance->mount,
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	int r = tree < 0 ? error_errno(err, "cannot copy the mount '%s'", instance->mount) : 0;

	if (r == 0)
		r = instance_part(tree, err);
	if (r == 0)
		*ret_tree = take_fd(&tree);
	return r;
}

static void instance_hold_path(const struct instance *instance, uint64_t namespace, char ret[STATE_PATH_SIZE + 32])
{
	char name[32];

	snprintf(name, sizeof(name), STATE_USERS "/%" PRIu64, namespace);
	instance_path(instance, name, ret);
}

static int instance_bind(const struct instance *instance, const char *path, struct error *err)
{
	auto_close int tree = -1;
	int r = instance_clone(instance, &tree, err);

	if (r < 0)
		return r;
	if (move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return error_errno(err, "cannot mount on '%s'", path);
	return 0;
}

int instance_keep(const struct instance *instance, struct error *err)
{
	char path[STATE_PATH_SIZE + 32];

	instance_path(instance, STATE_KEPT, path);
	return instance_bind(instance, path, err);
}

int instance_hold(const struct instance *instance, uint64_t namespace, struct error *err)
{
	auto_uses struct uses uses = { 0 };
	char path[STATE_PATH_SIZE + 32];
	int r = uses_read(&uses, err);

	if (r < 0)
		return r;
	instance_hold_path(instance, namespace, path);
	if (uses_at(&uses, path))
		return 0;
	r = state_make(AT_FDCWD, path, err);
	return r < 0 ? r : instance_bind(instance, path, err);
}

void instance_unhold(const struct instance *instance, uint64_t namespace)
{
	char path[STATE_PATH_SIZE + 32];

	instance_hold_path(instance, namespace, path);
	while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		continue;
	rmdir(path);
}

/* ---- its end ---- */

static int instance_remove_hold(void *argument, const char *name, struct error *err)
{
	(void)err;
	unlinkat(*(const int *)argument, name, AT_REMOVEDIR);
	return 0;
}

/* Removes the folders of holds that a killed attach has not made, or a killed detach has undone. */
static void instance_remove_holds(const struct instance *instance)
{
	char path[STATE_PATH_SIZE + 32];
	auto_close int users = -1;

	instance_path(instance, STATE_USERS, path);
	users = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (users >= 0)
		(void)!runtime_each(users, instance_remove_hold, &users, NULL);
}

/* Removes the record of a mount by the kernel, which the next command for such a mount would do as well. */
static void instance_forget(const struct instance *instance)
{
	uint64_t id;

	if (mount_record_id(AT_FDCWD, instance->mount, &id, NULL) == 0)
		mount_record_remove(MOUNT_RECORD_OWN, id);
}

/* Begins with the innermost. A mount that is in use stays, and so does the folder. */
static void instance_remove(const struct instance *instance)
{
	char path[STATE_PATH_SIZE + 32];

	instance_remove_holds(instance);
	for (size_t i = 0; i < sizeof(instance_folders) / sizeof(*instance_folders); i++) {
		instance_path(instance, instance_folders[i], path);
		rmdir(path);
	}
	for (size_t i = 0; i < sizeof(instance_files) / sizeof(*instance_files); i++) {
		instance_path(instance, instance_files[i], path);
		unlink(path);
	}
	rmdir(instance->path);
}

void instance_end(const struct instance *instance)
{
	char kept[STATE_PATH_SIZE + 32];
	bool was_mounted = false;

	instance_forget(instance);
	instance_path(instance, STATE_KEPT, kept);
	while (umount2(kept, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		continue;
	while (umount2(instance->mount, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		was_mounted = true;
	if (was_mounted && access(UTAB_HELPER, X_OK) == 0)
		utab_remove(instance->mount);
	instance_remove(instance);
}
