/* SPDX-License-Identifier: MIT */
/* The data sets that a job asks for: values of --dataset, NAME[@VERSION][,PATH]. They come from users, and on the node
 * through the environment of their jobs: hostile, and checked here alone. */
#pragma once
#include <limits.h>
#include <stddef.h>

#include "base/error.h"
#include "datasetfs/format.h"

#define WISH_MAX       16u       /* data sets of one step */
#define WISH_TEXT_SIZE (2u * (DSFS_LABEL_MAX + 1) + PATH_MAX) /* of a value, with the NUL */

struct wish {
	char name[DSFS_LABEL_MAX + 1];
	char version[DSFS_LABEL_MAX + 1]; /* empty: the current one */
	char path[PATH_MAX];              /* empty: the name's own, in the folder of the site */
};

struct wishes {
	struct wish items[WISH_MAX];
	size_t count;
};

/* Parses a value: names have no @, and the first comma ends a version. The path must be absolute and have neither . nor
 * .. in it; slashes that say nothing are left out of *ret. */
must_check int wish_parse(const char *text, struct wish *ret, struct error *err);
/* Parses a value and adds it. A former wish for the same place goes: a step may want something else than its job. */
must_check int wish_add(struct wishes *wishes, const char *text, struct error *err);
/* Writes the value that wish_parse() takes. */
void wish_text(const struct wish *wish, char ret[WISH_TEXT_SIZE]);
