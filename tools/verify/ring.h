/* SPDX-License-Identifier: MIT */
/* Whether what stands in the first MiB of a member is sound: superblock slots and the publisher record. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"

/* -EBADMSG: damaged. *ret_empty: all zeros, which is sound. What is wrong is looked at twice, as these places are
 * rewritten while people publish. */
typedef int ring_check(struct source *source, uint32_t member, uint32_t slot, bool *ret_empty, struct error *err);

must_check ring_check ring_check_slot;
must_check ring_check ring_check_publisher; /* whatever slot is */
