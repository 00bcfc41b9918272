/* SPDX-License-Identifier: MIT */
/* What lies on a file or device that is to hold a volume. The only user of libblkid. */
#pragma once
#include <stdbool.h>

#include "io/file.h"

struct occupant {
	bool is_volume;  /* a superblock of ours, however damaged */
	char what[128];  /* what libblkid knows, "a filesystem or volume of type ext4"; "": nothing */
	bool is_nothing; /* a file without any data */
	bool is_shared;  /* a file that others own or may write, while we are root: they would get what root packs */
};

/* file: what is open there for writing. */
must_check int occupant_find(const struct site *site, struct file_source *file, struct occupant *ret,
			     struct error *err);
/* Refuses to fill such a file. */
must_check int occupant_refuse_shared(const struct file_source *file, struct error *err);
/* Of a device: nobody recognises what lay there, at its beginning and, if that was something else than a volume, at
 * its end. */
must_check int occupant_wipe(struct file_source *file, uint64_t capacity, bool at_both_ends, struct error *err);
