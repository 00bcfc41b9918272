/* SPDX-License-Identifier: MIT */
/* The names by which consumers ask for data sets. A file of the administrator's says what each stands for, so a
 * consumer cannot name any volume or device of the machine:
 *
 *   # NAME  VOLUME            [OPTIONS]
 *   train   uuid:4f21c0de-…   prefetch=off
 *
 * Fields are separated by blanks and tabs; \040 stands for a blank in one, as in fstab(5). A line that begins with # is
 * a comment. */
#pragma once
#include "attach/key.h"

#define NAMED_FILE "/etc/datasetfs/datasets.conf"

/* Checks a name: the characters of a label (version_check_label()), without @, which begins the version. */
must_check int named_check(const char *name, struct error *err);
/* Begins the key of a data set: its volume, and the administrator's options. Consumers may add theirs. The whole file
 * is checked. Errors:
 *   ENOENT   there is no such file, or no such name in it
 *   EINVAL   that is no name, or a line of the file is wrong
 *   EPERM    somebody else than root may change the file */
must_check int named_begin(const char *file, const char *name, struct key *ret, struct error *err);
