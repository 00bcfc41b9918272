/* SPDX-License-Identifier: MIT */
/* Owns the names that a user may give a volume:
 *   PATH or IDENTITY (device/locate.h)   one of its members; the others are found
 *   A,B,C                                all of them, each by a path or an identity
 *   uuid:UUID                            block devices of the volume with this UUID
 * A file whose name looks like one of the last two is that file. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Returns whether the name is one path or identity. */
bool naming_is_one(const char *volume);
bool naming_is_uuid(const char *volume);
/* Parses the UUID of a name uuid:UUID. */
must_check int naming_uuid(const char *volume, uint8_t ret[16], struct error *err);
/* Splits a list into names; a single name is a list of one. The caller frees them with naming_free(). */
must_check int naming_split(const char *volume, char ***ret, uint32_t *ret_count, struct error *err);
void naming_free(char **names, uint32_t count);
/* Makes a name of the same volume for a process in another working directory. Keeps absolute paths and identities: a
 * by-id link says more than its target. The caller frees *ret. */
must_check int naming_absolute(const char *volume, char **ret, struct error *err);
/* Returns whether everything that the name lists exists. */
bool naming_is_reachable(const char *volume);
