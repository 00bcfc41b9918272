/* SPDX-License-Identifier: MIT */
/* A list of revoked keys: public keys, one a line, or a key revocation list that ssh-keygen -k made. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"

/* Finds out whether the file revokes this key. -EINVAL: the file is malformed or has parts of an unknown kind, so there
 * is no answer. */
must_check int revoked_has(struct span file, struct span key, bool *ret, struct error *err);
