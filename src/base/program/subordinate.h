/* SPDX-License-Identifier: MIT */
/* Subordinate user IDs: subuid(5) gives a user whole ranges, in which containers of the user run. */
#pragma once
#include <stdint.h>

#include "base/error.h"

#define SUBORDINATE_FILE "/etc/subuid"

struct subordinate;

/* Reads a file in the form of subuid(5). A line that has another form counts for nothing. */
must_check int subordinate_read(const char *path, struct subordinate **ret, struct error *err);
void subordinate_free(struct subordinate *subordinate);
/* Returns one number for all user IDs in the ranges of one user: the first of them. Other IDs stay as they are. NULL:
 * there are no ranges. */
uint32_t subordinate_share(const struct subordinate *subordinate, uint32_t uid);
