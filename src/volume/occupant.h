/* SPDX-License-Identifier: MIT */
/* Finds earlier contents of a file or device that will hold a volume. The only user of libblkid. */
#pragma once
#include <stdbool.h>

#include "io/file.h"

struct occupant {
	bool is_volume;  /* it has a superblock of ours, however damaged */
	char what[128];  /* libblkid's finding, "a filesystem or volume of type ext4"; "": nothing */
	bool is_nothing; /* it is a file without any data */
	bool is_shared;  /* others own or may write the file, and we are root: they would get what root packs */
};

/* Examines site. file: the same, open for writing. */
must_check int occupant_find(const struct site *site, struct file_source *file, struct occupant *ret,
			     struct error *err);
/* Returns -EPERM; the reason says why a file that is_shared must not be filled. */
must_check int occupant_refuse_shared(const struct file_source *file, struct error *err);
/* Wipes the beginning of a device so that its former content is not recognised any more. at_both_ends: also the end,
 * if that content was no volume. */
must_check int occupant_wipe(struct file_source *file, uint64_t capacity, bool at_both_ends, struct error *err);
