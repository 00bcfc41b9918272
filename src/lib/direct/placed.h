/* SPDX-License-Identifier: MIT */
/* Lists the files of a version by place: by its table, or in the order of ids. */
#pragma once
#include "lib/lib.h"

/* Implements backend->placed. */
must_check int placed_list(struct opened *opened, uint64_t first, uint64_t *ids, size_t most, struct error *err);
