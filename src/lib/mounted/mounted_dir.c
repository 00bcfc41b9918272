/* SPDX-License-Identifier: MIT */
/* Reads by readdir(3) and checks each entry. */
#include "lib/mounted/mounted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "lib/beneath.h"

#define DIR_NAMES ((size_t)1 << 31) /* bytes of names in a batch: stops a listing without an end */

int mounted_dir_open(const struct mounted_version *mounted, uint64_t id, const char *path, bool is_plain,
		     struct mounted_dir *ret, struct error *err)
{
	auto_close int fd = beneath_open(mounted->root, path, O_RDONLY | O_DIRECTORY, !is_plain, err);
	struct stat st;
	DIR *dir;
	int r;

	if (fd == -ELOOP && is_plain)
		return error_set(err, -ENOTDIR, "'%s' in the mount is a symbolic link", path);
	if (fd < 0)
		return mounted_version_settle(mounted, fd, err);
	r = mounted_version_expect(mounted, fd, path, id, &st, err);
	if (r < 0)
		return r;
	dir = fdopendir(fd);
	if (!dir)
		return error_errno(err, "'%s'", path);
	take_fd(&fd);
	*ret = (struct mounted_dir){ .mounted = mounted, .dir = dir };
	return 0;
}

void mounted_dir_close(struct mounted_dir *dir)
{
	if (dir->dir)
		closedir(dir->dir);
	dir->dir = NULL;
}

void mounted_dir_free(struct mounted_batch *batch)
{
	free(batch->entries);
	free(batch->names);
	*batch = (struct mounted_batch){ 0 };
}

static int mounted_dir_room(struct mounted_batch *batch, size_t length, struct error *err)
{
	int r;

	if (batch->used + length >= DIR_NAMES)
		return error_set(err, -EFBIG, "a directory with more than %zu bytes of names", DIR_NAMES);
	r = grow(batch->entries, batch->room, batch->count + 1, err);
	return r < 0 ? r : grow(batch->names, batch->names_room, batch->used + length + 1, err);
}

static int mounted_dir_take(const struct mounted_version *mounted, const struct dirent *entry,
			    struct mounted_batch *batch, struct error *err)
{
	struct mounted_entry taken = { .at = (uint32_t)batch->used, .type = entry->d_type };
	size_t length = strnlen(entry->d_name, sizeof(entry->d_name));
	int r = mounted_version_number(mounted, entry->d_ino, &taken.id, err);

	if (r == 0 && (taken.type != DT_REG && taken.type != DT_DIR && taken.type != DT_LNK))
		r = error_set(err, -EIO, "'%s' in the mount is of type %u", entry->d_name, taken.type);
	if (r == 0 && (length < 1 || length > UINT8_MAX || memchr(entry->d_name, '/', length)))
		r = error_set(err, -EIO, "the mount has a name of %zu bytes, or with a '/' in it", length);
	if (r == 0)
		r = mounted_dir_room(batch, length, err);
	if (r < 0)
		return r;
	taken.length = (uint8_t)length;
	memcpy(batch->names + batch->used, entry->d_name, length);
	batch->names[batch->used + length] = 0;
	batch->used += length + 1;
	batch->entries[batch->count++] = taken;
	return 0;
}

int mounted_dir_next(struct mounted_dir *dir, size_t most, struct mounted_batch *batch, struct error *err)
{
	const struct dirent *entry;
	int r = 0;

	batch->count = batch->used = 0;
	while (batch->count < most && r == 0) {
		errno = 0;
		entry = readdir(dir->dir);
		if (!entry && errno)
			r = error_errno(err, "cannot list a directory of the mount");
		if (!entry)
			break;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = mounted_dir_take(dir->mounted, entry, batch, err);
	}
	return r;
}
