/* SPDX-License-Identifier: MIT */
/* Follows symlinks of the source, but only to what lies below a directory: whoever owns a link must not choose which
 * files of root are published. */
#pragma once
#include <stddef.h>

#include "base/error.h"

struct beneath {
	int fd;
	const char *name; /* as the user gave it */
	char *path;       /* without symlinks */
};

must_check int beneath_open(const char *name, struct beneath *ret, struct error *err);
void beneath_close(struct beneath *beneath);
/* Opens what the symlink leads to, with O_PATH. Returns a descriptor. -ENOENT: nothing is there; -ELOOP; -EXDEV: it
 * does not lie below the directory. The reason does not name the symlink. */
must_check int beneath_follow(const struct beneath *beneath, int at, const char *name, struct error *err);
/* The same, with these flags of open(2). */
must_check int beneath_follow_for(const struct beneath *beneath, int at, const char *name, int flags,
				  struct error *err);
