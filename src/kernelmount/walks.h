/* SPDX-License-Identifier: MIT */
/* Has the kernel read the next files for programs that walk a mount which it serves, as tar and cp do: fanotify(7)
 * tells which directories are opened, and for a while which files in them. */
#pragma once
#include <stdint.h>

struct walks;

/* mountpoint must outlive it. NULL: no memory. */
struct walks *walks_open(const char *mountpoint);
void walks_close(struct walks *walks); /* may be NULL */
/* Watches the mount with this id, of mount_record_id(), in place of another one. Keeps nothing of it open, so that it
 * can be unmounted. Where the kernel does not tell of its files, nothing is read ahead, which is logged once. */
void walks_watch(struct walks *walks, uint64_t id);
/* Waits for so many nanoseconds, and reads ahead meanwhile. walks may be NULL. */
void walks_wait(struct walks *walks, int64_t ns);
