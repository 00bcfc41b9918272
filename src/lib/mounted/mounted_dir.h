/* SPDX-License-Identifier: MIT */
/* Lists a directory of a mount, some entries at a time. */
#pragma once
#include <dirent.h>

#include "lib/mounted/mounted_names.h"
#include "lib/mounted/mounted_version.h"

struct mounted_dir {
	const struct mounted_version *mounted;
	DIR *dir;
};

/* Opens the directory by a known path. is_plain: the path has no symbolic links. -ESTALE: the path leads to another
 * inode. */
must_check int mounted_dir_open(const struct mounted_version *mounted, uint64_t id, const char *path, bool is_plain,
				struct mounted_dir *ret, struct error *err);
void mounted_dir_close(struct mounted_dir *dir);
/* Replaces the contents of the batch with the next entries, at most `most`; none at the end. The caller frees the batch
 * with mounted_dir_free() afterwards. */
must_check int mounted_dir_next(struct mounted_dir *dir, size_t most, struct mounted_batch *batch, struct error *err);
void mounted_dir_free(struct mounted_batch *batch);
