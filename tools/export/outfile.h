/* SPDX-License-Identifier: MIT */
/* The file that an export writes: under its name is all of it, or what was there before. */
#pragma once
#include <stdbool.h>

#include "io/array.h"
#include "io/site.h"

struct outfile {
	struct site to, beside;
	bool is_named; /* beside: the filesystem has no files without a name */
	int fd;        /* to write to */
};

#define OUTFILE_NONE ((struct outfile){ .to = SITE_NONE, .beside = SITE_NONE, .fd = -1 })

/* Makes it beside the name; replace: what has the name gives it up, if it is a regular file and no member of volume. */
must_check int outfile_open(const char *path, bool replace, const struct array_source *volume, struct outfile *ret,
			    struct error *err);
/* All is written: flushes, and gives it its name. */
must_check int outfile_commit(struct outfile *file, struct error *err);
/* Without a commit nothing is left of it. */
void outfile_close(struct outfile *file);
