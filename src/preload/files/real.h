/* SPDX-License-Identifier: MIT */
/* Makes a descriptor real: puts the mount's file in place of its placeholder, which is always right, only slower. Calls
 * are made inside (inside.h). */
#pragma once
#include "preload/files/table.h"

/* Whether the descriptor is this file of the mount. */
bool real_is(int fd, const struct table_file *file);

/* Makes the descriptor real if it is a file of ours. If that fails it stays a placeholder, on which calls fail. caller:
 * the calling function's name, a constant, for the report. */
void real_make(int fd, const char *caller);
/* Makes the descriptor of a locked entry real, and drops the entry. False: the mount's file cannot be opened, and the
 * entry stays. */
bool real_make_entry(struct table_entry *entry, int fd, const char *caller);
/* Makes real the descriptor that a path such as /proc/self/fd/7 leads to. For callers that are not inside. */
void real_make_named(const char *path);
void real_make_all(const char *caller);
/* Makes all descriptors real and serves nothing from now on: the process keeps nothing by which it could read a
 * volume. */
void real_stop(const char *caller);
/* Must be called before a lock owned by the process is set on fd. Such a lock ends when any descriptor of the file is
 * closed, which making one real does. So if fd is a file of a data set, nothing is served from then on. */
void real_make_for_lock(int fd, const char *caller);
/* Must be called before the program closes this range of descriptors: if any of them is the library's own, nothing is
 * served from then on. */
void real_lose_own(unsigned first, unsigned last, const char *caller);
