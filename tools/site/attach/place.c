/* SPDX-License-Identifier: MIT */
/* Uses move_mount(2). umount2(2) takes a path only: that of a name in the folder's descriptor. */
#include "attach/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/state.h"
#include "base/cleanup.h"
#include "base/fdname.h"

#define PLACE_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Says why the next directory on the path cannot be opened. */
static int place_refuse(int at, const char *name, const char *path, struct error *err)
{
	int code = errno;
	struct stat st;

	if (code == ENOENT)
		return error_set(err, -code, "'%s' does not exist: 'mkdir -p %s' makes it", path, path);
	if (code != ENOTDIR)
		return error_set(err, -code, "cannot open '%s': %s", path, strerror(code));
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		return error_set(err, -ELOOP, "'%s': a symbolic link is on the way, name the directory itself", path);
	return error_set(err, -code, "'%s' is not a directory", path);
}

/* Opens a directory name by name, as openat2(2) is missing before Linux 5.6. */
static int place_find(const char *path, int *ret, struct error *err)
{
	auto_close int at = open(*path == '/' ? "/" : ".", PLACE_FLAGS);
	const char *rest = path;
	char name[NAME_MAX + 1];
	size_t length;
	int next;

	if (at < 0)
		return error_errno(err, "cannot begin at '%s'", path);
	if (!*path)
		return error_set(err, -ENOENT, "the path is empty");
	while ((rest += strspn(rest, "/")), (length = strcspn(rest, "/"))) {
		if (length > NAME_MAX)
			return error_set(err, -ENAMETOOLONG, "'%s': %s", path, strerror(ENAMETOOLONG));
		snprintf(name, sizeof(name), "%.*s", (int)length, rest);
		next = openat(at, name, PLACE_FLAGS);
		if (next < 0)
			return place_refuse(at, name, path, err);
		close_fd(&at);
		at = next;
		rest += length;
	}
	*ret = take_fd(&at);
	return 0;
}

/* Asks the kernel for the path of a descriptor. */
static int place_trace(int fd, char ret[PATH_MAX], struct error *err)
{
	ssize_t length = fdname_path(fd, ret, PATH_MAX);

	if (length < 0)
		return error_errno(err, "cannot find the path of a directory");
	if (*ret != '/' || length == PATH_MAX - 1)
		return error_set(err, -ENOENT, "its path cannot be seen here");
	return 0;
}

static int place_check(const struct place *place, struct error *err)
{
	size_t length = strlen(STATE_FOLDER);

	if (!strcmp(place->path, "/"))
		return error_set(err, -EINVAL, "'/' cannot be covered");
	if (!strncmp(place->path, STATE_FOLDER, length) && (!place->path[length] || place->path[length] == '/'))
		return error_set(err, -EINVAL, "'%s' is in '" STATE_FOLDER "', which holds the mounts themselves",
				 place->path);
	return 0;
}

/* Opens the folder, once the path of the place is known. */
static int place_split(struct place *place, struct error *err)
{
	char *slash = strrchr(place->path, '/');
	int r;

	if (strlen(slash + 1) > NAME_MAX)
		return error_set(err, -ENAMETOOLONG, "'%s': %s", place->path, strerror(ENAMETOOLONG));
	strcpy(place->name, slash + 1);
	*slash = 0;
	r = place_find(*place->path ? place->path : "/", &place->folder, err);
	*slash = '/';
	return r;
}

int place_open(const char *path, struct place *ret, struct error *err)
{
	struct place place = PLACE_NONE;
	int r = place_find(path, &place.directory, err);

	if (r == 0)
		r = place_trace(place.directory, place.path, err);
	if (r == 0)
		r = place_check(&place, err);
	if (r == 0)
		r = place_split(&place, err);
	if (r < 0) {
		place_close(&place);
		return r;
	}
	*ret = place;
	return 0;
}

void place_close(struct place *place)
{
	close_fd(&place->folder);
	close_fd(&place->directory);
}

int place_lock(const struct place *place, int places, struct error *err)
{
	return runtime_lock_place(places, place->folder, place->name, place->path, err);
}

int place_renew(struct place *place, struct error *err)
{
	struct place found;
	int r = place_open(place->path, &found, err);

	if (r < 0)
		return r;
	place_close(place);
	*place = found;
	return 0;
}

int place_cover(const struct place *place, int tree, struct error *err)
{
	if (move_mount(tree, "", place->directory, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_errno(err, "cannot mount on '%s'", place->path);
	return 0;
}

int place_uncover(const struct place *place, struct error *err)
{
	char folder[FDNAME_LINK_SIZE], path[FDNAME_LINK_SIZE + NAME_MAX + 1];

	fdname_link(place->folder, folder);
	snprintf(path, sizeof(path), "%s/%s", folder, place->name);
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		return error_errno(err, "cannot unmount '%s'", place->path);
	return 0;
}
