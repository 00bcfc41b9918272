/* SPDX-License-Identifier: MIT */
/* Puts the mount's file in place of a placeholder: always right, only slower. Calls are made inside (inside.h). */
#pragma once
#include "preload/table/table.h"

/* Whether the descriptor is this file of the mount. */
bool real_is(int fd, const struct table_file *file);

/* Makes the number real, if it is a file of ours. If that fails it stays a placeholder, on which calls fail. caller:
 * the calling function's name, a constant, for the report. */
void real_make(int fd, const char *caller);
/* Makes a locked entry's number real, and drops the entry. False: it cannot be had, and the entry stays. */
bool real_make_entry(struct table_entry *entry, int fd, const char *caller);
/* Makes the number real to which a path such as /proc/self/fd/7 leads. For callers that are not inside. */
void real_make_named(const char *path);
void real_make_all(const char *caller);
/* Makes all real and serves nothing from now on: the process keeps nothing by which it could read a volume. */
void real_stop(const char *caller);
/* Must be called before a lock of the process is set: it ends when any descriptor of the file is closed, as making one
 * real does. So if it is a file of a data set, nothing is served from then on. */
void real_make_for_lock(int fd, const char *caller);
/* Must be called before the program closes this range of numbers: if any is ours, nothing is served from now on. */
void real_lose_own(unsigned first, unsigned last, const char *caller);
