/* SPDX-License-Identifier: MIT */
/* Puts the file of the mount in the place of what stands for it: always right, only slower. Called inside. */
#pragma once
#include "preload/table.h"

/* Whether the descriptor is this file of the mount. */
bool real_is(int fd, const struct table_file *file);

/* What is behind the number afterwards is no concern of ours: if it cannot be had, a placeholder, on which
 * calls fail. caller: the name of a function, a constant, for the report. */
void real_make(int fd, const char *caller);
/* The same, of a locked entry, which is dropped. False: it cannot be had, and the entry stays. */
bool real_make_entry(struct table_entry *entry, int fd, const char *caller);
/* One that a path leads to by its number, as /proc/self/fd/7 does. For who is not inside yet. */
void real_make_named(const char *path);
void real_make_all(const char *caller);
/* And nothing is served from now on: this process keeps nothing by which it could read a volume. */
void real_stop(const char *caller);
/* Before a lock is set that belongs to the process: it ends when any descriptor of the file is closed, as making
 * one real does. So if it is a file of a data set, nothing is served from then on. */
void real_make_for_lock(int fd, const char *caller);
/* Descriptors of ours in this range are about to go: if there are any, nothing is served from now on. */
void real_lose_own(unsigned first, unsigned last, const char *caller);
