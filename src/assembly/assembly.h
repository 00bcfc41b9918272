/* SPDX-License-Identifier: MIT */
/* Finds the members of a volume by the name that the user gives (members/naming.h). */
#pragma once
#include "base/error.h"
#include "image/members/superblock.h"
#include "io/array.h"

/* A volume whose members are known. */
struct assembly {
	struct array_source *array; /* opened for reading; a caller that takes it sets this to NULL */
	char **names; /* by slot, the path or identity (device/locate.h) that found the member; NULL: it is missing */
	char **whys;  /* by slot, why it is missing or stale; NULL: it is neither */
	struct superblock_ring *rings; /* the superblocks that were read: SUPERBLOCK_RINGS rings */
	uint32_t count;
};

/* Opens a volume. A single file or device is opened whatever it holds, unless it says that it is one member of several.
 * Then enough members must be there for every byte: -ENOLINK, with the names of missing and stale ones; -EXDEV: one is
 * of another volume; -ENOTUNIQ: one was found twice; -EBADMSG: one has a history of its own. A device that does not
 * answer in time counts as missing; reads of the array are limited as well (io/timed_read.h). alone: the ns for a file
 * or device that was named alone, FILE_PATIENCE or FILE_WAITS. */
must_check int assembly_open(const char *volume, int64_t alone, struct assembly *ret, struct error *err);
void assembly_close(struct assembly *assembly); /* closes the contents */
