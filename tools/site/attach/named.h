/* SPDX-License-Identifier: MIT */
/* The names by which consumers ask for data sets. A file of the administrator's says what each stands for, so a
 * consumer cannot name any volume or device of the machine; its form is that of base/text/settings.h:
 *
 *   # NAME  VOLUME            [OPTIONS]
 *   train   uuid:4f21c0de-…   readahead=4M,prefetch=off */
#pragma once
#include <stddef.h>

#include "base/error.h"

#define NAMED_FILE "/etc/datasetfs/datasets.conf"
/* Characters that occur in names of volumes but not of data sets, so that the two cannot be confused. */
#define NAMED_OF_VOLUMES "/:,"

struct named {
	char *name, *volume;
	char *options; /* of the mount, separated by commas; NULL: none */
};

struct named_list {
	const char *file;
	struct named *items;
	size_t count;
};

/* Checks a name: the characters of a label (version_check_label()), without @, which begins the version, and
 * without :, which volumes have. */
must_check int named_check(const char *name, struct error *err);
/* Reads all names; there are none if there is no file, whose name the list keeps. -EINVAL: a line of it is wrong;
 * -EPERM: a user other than root may change it. */
must_check int named_read(const char *file, struct named_list *ret, struct error *err);
/* Finds a data set. -EINVAL: that is no name; -ENOENT: it stands for nothing. */
must_check int named_find(const struct named_list *list, const char *name, const struct named **ret,
			  struct error *err);
void named_free(struct named_list *list); /* frees its contents only */

#define auto_named cleanup(named_free)
