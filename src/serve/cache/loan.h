/* SPDX-License-Identifier: MIT */
/* Asks other mounts of this user, which use the same folder, for the index of a version that they have open: it is then
 * in memory once for all of them. */
#pragma once
#include "image/catalogue/version.h"
#include "image/members/backing.h"
#include "opened/opened_version.h"

/* Sets the index, checked by the daemon that has it open, and the block checksums; if no daemon lends them, leaves *ret
 * as it is. volume and uuid: the volume's folder and UUID; own: the name of the caller's socket, which is not asked;
 * backing: where the version lies. */
void loan_take(int volume, const uint8_t uuid[16], const char *own, const struct version *version,
	       struct backing backing, struct opened_version *ret);
