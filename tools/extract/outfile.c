/* SPDX-License-Identifier: MIT */
/* Writes next to the final name, then renames. */
#include "extract/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

int outfile_check_volume(const struct array_source *volume, const struct stat *former, struct error *err)
{
	struct stat member;

	for (uint32_t i = 0; i < volume->count; i++)
		if (volume->fds[i] >= 0 && fstat(volume->fds[i], &member) == 0 && site_is_same(&member, former))
			return error_set(err, -EINVAL, "it is the volume itself");
	return 0;
}

static int outfile_check_former(const struct site *site, const struct array_source *volume, struct error *err)
{
	struct stat st;

	if (fstat(site->file, &st) < 0)
		return error_errno(err, "stat");
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "it is not a regular file, and --force replaces no other");
	return outfile_check_volume(volume, &st, err);
}

/* Finds the file that path leads to, if there is one, and its folder. */
static int outfile_find(const char *path, bool replace, const struct array_source *volume, struct site *ret,
			struct error *err)
{
	struct error why = { 0 };
	int r = site_find(path, ret, &why);

	if (r == -ENOENT)
		return site_plan(path, ret, err);
	if (r < 0)
		return error_pass(err, r, &why);
	r = outfile_check_former(ret, volume, err);
	if (r == 0 && !replace)
		r = error_set(err, -EEXIST, "it is there already: --force replaces it");
	return r < 0 ? r : site_name(ret, ret->file, err);
}

/* Makes the new file, which has no name at first, or one that begins with prefix. */
static int outfile_create(struct outfile *file, const struct site *prefix, struct error *err)
{
	int r = site_beside_random(prefix, ".new.", &file->beside, err);

	return r < 0 ? r : site_create_unnamed(&file->beside, &file->fd, err);
}

int outfile_open(const char *path, bool replace, const struct array_source *volume, struct outfile *ret,
		 struct error *err)
{
	struct outfile file = OUTFILE_NONE;
	int r = outfile_find(path, replace, volume, &file.to, err);

	if (r == 0)
		r = outfile_create(&file, &file.to, err);
	if (r < 0) {
		outfile_close(&file);
		return error_wrap(err, r, "'%s'", path);
	}
	*ret = file;
	return 0;
}

/* Finds the file that has the name in the folder of file->to, if there is one that may be replaced. */
static int outfile_find_in(struct outfile *file, bool replace, struct error *err)
{
	struct stat st;

	file->to.file = openat(file->to.folder, file->to.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (file->to.file < 0)
		return errno == ENOENT ? 0 : error_errno(err, "cannot open it");
	if (!replace)
		return error_set(err, -EEXIST, "it is there already: --force replaces it");
	if (fstat(file->to.file, &st) < 0)
		return error_errno(err, "stat");
	if (S_ISDIR(st.st_mode))
		return error_set(err, -EISDIR, "a directory is there, which --force does not replace");
	return 0;
}

int outfile_open_in(int folder, const char *name, const char *path, bool replace, struct outfile *ret,
		    struct error *err)
{
	struct outfile file = OUTFILE_NONE;
	struct site prefix = SITE_NONE; /* a name in full length has no room for more */
	int r;

	file.to.path = path;
	snprintf(file.to.name, sizeof(file.to.name), "%s", name);
	file.to.folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (file.to.folder < 0)
		return error_errno(err, "'%s'", path);
	prefix.folder = file.to.folder;
	prefix.path = path;
	r = outfile_find_in(&file, replace, err);
	if (r == 0)
		r = outfile_create(&file, &prefix, err);
	if (r < 0) {
		outfile_close(&file);
		return error_wrap(err, r, "'%s'", path);
	}
	*ret = file;
	return 0;
}

int outfile_name(struct outfile *file, struct error *err)
{
	int r = site_link(&file->beside, file->fd, err);

	return r < 0 ? r : site_replace(&file->beside, file->fd, &file->to, file->to.file, err);
}

int outfile_commit(struct outfile *file, struct error *err)
{
	int r = fsync(file->fd) < 0 ? error_errno(err, "cannot write '%s'", file->to.path) : 0;

	if (r == 0)
		r = outfile_name(file, err);
	return r < 0 ? r : site_sync(&file->to, err);
}

void outfile_close(struct outfile *file)
{
	site_remove(&file->beside, file->fd);
	close_fd(&file->fd);
	site_close(&file->beside);
	site_close(&file->to);
}
