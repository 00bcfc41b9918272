/* SPDX-License-Identifier: MIT */
/* Asks other mounts of this user, which use the same folder, for the index of a version that they have open: it is then
 * in memory once for all of them. */
#pragma once
#include "image/catalogue/version.h"
#include "image/index.h"

/* Returns the index, checked by the daemon that has it open; NULL: no daemon lends it. volume and uuid: the volume's
 * folder and UUID; own: the name of the caller's socket, which is not asked. */
struct index *loan_take(int volume, const uint8_t uuid[16], const char *own, const struct version *version,
			uint64_t member_size, const struct members *members);
