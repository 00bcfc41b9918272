/* SPDX-License-Identifier: MIT */
/* Tells whether a mountpoint already shows a volume. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/mountinfo.h"

/* Makes the source of a mount by a daemon, as the mount table shows it, to be freed with free(). label: NULL, or of the
 * version that was asked for. NULL: no memory. */
char *occupied_source(const char *volume, const char *label);

/* Name of the memory file (memfd_create(2)) behind a kernel mount: this word, a blank, the version's label, a blank,
 * and the volume. Such a mount has no process, so only this name tells which volume it shows. */
#define OCCUPIED_IMAGE     "datasetfs-erofs"
#define OCCUPIED_NAME_SIZE 250u /* the longest name that memfd_create(2) takes */

/* The label and the volume in the name of the memory file, or "". */
struct occupied_view {
	char label[OCCUPIED_NAME_SIZE], volume[OCCUPIED_NAME_SIZE];
};
/* True if device is a kernel mount of a volume of ours. */
bool occupied_by_kernel(dev_t device, struct occupied_view *ret);
/* Says who serves a mount of the table. *ret_view: of one by the kernel. */
enum occupied_by { OCCUPIED_BY_OTHERS, OCCUPIED_BY_DAEMON, OCCUPIED_BY_KERNEL };
enum occupied_by occupied_server(const struct mountinfo *info, struct occupied_view *ret_view);

/* Returns -EBUSY if a daemon or the kernel has a volume mounted on exactly this mountpoint and nothing covers it:
 * another mount would hide it, with its daemon and memory, from everybody who is not already inside. Other filesystems,
 * and directories below a mount, may be covered. The path is absolute and free of symbolic links. With `same`, a volume
 * and the label that was asked for or NULL, returns 1 if that is mounted there, even if it was switched since. */
struct occupied_same {
	const char *volume, *label;
};
must_check int occupied_check(const char *mountpoint, const struct occupied_same *same, struct error *err);
