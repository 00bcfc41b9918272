/* SPDX-License-Identifier: MIT */
/* Writes next to the final name, then renames. */
#include "take/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static int outfile_check_former(const struct site *site, const struct array_source *volume, struct error *err)
{
	struct stat st, member;

	if (fstat(site->file, &st) < 0)
		return error_errno(err, "stat");
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "it is not a regular file, and --force replaces no other");
	for (uint32_t i = 0; i < volume->count; i++)
		if (volume->fds[i] >= 0 && fstat(volume->fds[i], &member) == 0 && site_is_same(&member, &st))
			return error_set(err, -EINVAL, "it is the volume itself");
	return 0;
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

static int outfile_create(struct outfile *file, struct error *err)
{
	int r = site_beside_random(&file->to, ".new.", &file->beside, err);

	return r < 0 ? r : site_create_unnamed(&file->beside, &file->fd, err);
}

int outfile_open(const char *path, bool replace, const struct array_source *volume, struct outfile *ret,
		 struct error *err)
{
	struct outfile file = OUTFILE_NONE;
	int r = outfile_find(path, replace, volume, &file.to, err);

	if (r == 0)
		r = outfile_create(&file, err);
	if (r < 0) {
		outfile_close(&file);
		return error_wrap(err, r, "'%s'", path);
	}
	*ret = file;
	return 0;
}

int outfile_commit(struct outfile *file, struct error *err)
{
	int r = fsync(file->fd) < 0 ? error_errno(err, "cannot write '%s'", file->to.path) : 0;

	if (r == 0)
		r = site_link(&file->beside, file->fd, err);
	if (r == 0)
		r = site_replace(&file->beside, file->fd, &file->to, file->to.file, err);
	return r < 0 ? r : site_sync(&file->to, err);
}

void outfile_close(struct outfile *file)
{
	site_remove(&file->beside, file->fd);
	close_fd(&file->fd);
	site_close(&file->beside);
	site_close(&file->to);
}
