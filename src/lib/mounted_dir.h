/* SPDX-License-Identifier: MIT */
/* Lists a directory of a mount, some entries at a time. */
#pragma once
#include <dirent.h>

#include "lib/mounted_names.h"
#include "lib/mounted_version.h"

struct mounted_dir {
	const struct mounted *mounted;
	DIR *dir;
};

/* By a path that is known to lead to the directory; -ESTALE when it leads to another one. */
must_check int mounted_dir_open(const struct mounted *mounted, uint64_t id, const char *path, bool is_plain,
				struct mounted_dir *ret, struct error *err);
void mounted_dir_close(struct mounted_dir *dir);
/* Empties the batch and puts the next entries into it, at most so many; none at the end. Free it afterwards. */
must_check int mounted_dir_next(struct mounted_dir *dir, size_t most, struct mounted_batch *batch, struct error *err);
void mounted_dir_free(struct mounted_batch *batch);
