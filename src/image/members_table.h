/* SPDX-License-Identifier: MIT */
/* The table at the end of a catalogue, as bytes. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "image/members.h"

/* Bytes of the table; 0 when there is none. */
uint64_t members_table_length(const struct members *members);
/* Writes so many bytes, into zeros. */
void members_table_encode(const struct members *members, uint8_t *bytes);
/* Checks everything against the volume of this superblock; what may follow the table is ignored. */
must_check int members_table_decode(struct span span, const struct superblock *super, struct members *ret,
				    struct error *err);
