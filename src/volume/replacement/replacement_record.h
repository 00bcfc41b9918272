/* SPDX-License-Identifier: MIT */
/* Owns the record of a replacement: which columns are already on the device that will replace a member. */
#pragma once
#include <stdbool.h>

#include "image/catalogue/catalogue.h"
#include "io/file.h"

struct replacement_record {
	uint8_t volume_uuid[16], member_uuid[16];
	uint32_t member;
	uint64_t sequence; /* of the state whose columns were copied last */
	uint8_t catalogue_sha256[32];
};

/* Reads the record; false: there is none. */
bool replacement_record_read(struct file_source *file, struct replacement_record *ret);
must_check int replacement_record_write(struct file_source *file, const struct replacement_record *record,
					struct error *err);
/* Removes the record. */
must_check int replacement_record_clear(struct file_source *file, struct error *err);

/* Reads the sums: one for each range of adjacent segments, over the positions, births and lengths of its columns. */
must_check int replacement_record_read_sums(struct file_source *file, uint64_t *sums, struct error *err);
/* Writes the sums. former: the sums on the device, so that only changed blocks are written; NULL: not known. */
must_check int replacement_record_write_sums(struct file_source *file, const uint64_t *sums, const uint64_t *former,
					     struct error *err);
