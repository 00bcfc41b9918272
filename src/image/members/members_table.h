/* SPDX-License-Identifier: MIT */
/* Encodes and decodes the table at the end of a catalogue. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "image/members/members.h"

/* Returns the bytes of the table; 0 if there is none. */
uint64_t members_table_length(const struct members *members);
/* Writes members_table_length() bytes, which must be zeros before. */
void members_table_encode(const struct members *members, uint8_t *bytes);
/* Checks everything against the volume of this superblock; ignores bytes after the table. */
must_check int members_table_decode(struct span span, const struct superblock *super, struct members *ret,
				    struct error *err);
