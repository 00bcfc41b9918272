/* SPDX-License-Identifier: MIT */
/* Writes a file so that its name always leads to a complete one: the former one, or the new one. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "io/array.h"
#include "io/site.h"

struct outfile {
	struct site to, beside;
	int fd; /* the new file, open for writing */
};

#define OUTFILE_NONE ((struct outfile){ .to = SITE_NONE, .beside = SITE_NONE, .fd = -1 })

/* Makes the file next to its final name. replace: an existing file may be replaced, if it is a regular file and no
 * member of volume. */
must_check int outfile_open(const char *path, bool replace, const struct array_source *volume, struct outfile *ret,
			    struct error *err);
/* Makes the file for a name in a folder that is open; the name is not followed if it is a link. path: for messages. */
must_check int outfile_open_in(int folder, const char *name, const char *path, bool replace, struct outfile *ret,
			       struct error *err);
/* Refuses a former file that is the volume itself. */
must_check int outfile_check_volume(const struct array_source *volume, const struct stat *former, struct error *err);
/* Gives the complete file its name. */
must_check int outfile_name(struct outfile *file, struct error *err);
/* Flushes the file, names it, and flushes its folder. */
must_check int outfile_commit(struct outfile *file, struct error *err);
/* Removes the file unless it was committed. */
void outfile_close(struct outfile *file);
