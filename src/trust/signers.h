/* SPDX-License-Identifier: MIT */
/* A file of allowed signers: ssh-keygen(1), ALLOWED SIGNERS. Lines with keys of other kinds, and of authorities that
 * sign keys, allow nothing here. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define SIGNERS_NAME_SIZE 128 /* of a signer's name: its principals, cut if they are longer */

/* Finds a line that allows this key to sign a version of this date. -EKEYREJECTED: there is none, and the reason says
 * why; -EINVAL: a line is malformed, and the file allows nothing. */
must_check int signers_find(struct span file, struct span key, uint64_t date, char name[SIGNERS_NAME_SIZE],
			    struct error *err);
