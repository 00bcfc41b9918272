/* SPDX-License-Identifier: MIT */
/* Checks the structures in the first MiB of a member: superblock slots and the publisher record. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"

/* Checks one structure. -EBADMSG: it is damaged. *ret_empty: it is all zeros, which is sound. A damaged structure is
 * read twice, because a publisher may be rewriting it. */
typedef int ring_check(struct source *source, uint32_t member, uint32_t slot, bool *ret_empty, struct error *err);

must_check ring_check ring_check_slot;
must_check ring_check ring_check_publisher; /* ignores slot */
