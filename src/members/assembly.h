/* SPDX-License-Identifier: MIT */
/* Finds the members of a volume by what the user calls it (members/naming.h). */
#pragma once
#include "base/error.h"
#include "image/superblock.h"
#include "io/array.h"

/* A volume whose members are known. */
struct assembly {
	struct array_source *array; /* opened for reading; who takes it sets NULL */
	char **names; /* by slot, what each is found by: a path or an identity (device/locate.h); NULL: it is missing */
	char **whys;  /* by slot, why it is missing or stale; NULL: it is neither */
	struct superblock_ring *rings; /* what was read on the way, SUPERBLOCK_RINGS of them */
	uint32_t count;
};

/* A single file or device is opened whatever it holds, unless it says that it is one member of several. Then so many
 * must be there that every byte is: -ENOLINK with the names of those that are missing or stale; -EXDEV: one is of
 * another volume; -ENOTUNIQ: one is there twice; -EBADMSG: one went ways of its own. */
must_check int assembly_open(const char *volume, struct assembly *ret, struct error *err);
/* The same for callers that must not wait for a device: one that does not answer in time counts as missing. Reads of
 * the array are bounded as well (io/bounded.h). */
must_check int assembly_open_bounded(const char *volume, struct assembly *ret, struct error *err);
/* For programs: as above, but one that is named alone is waited for until a signal ends the program. */
must_check int assembly_open_patient(const char *volume, struct assembly *ret, struct error *err);
void assembly_close(struct assembly *assembly); /* its contents */
