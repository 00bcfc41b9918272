/* SPDX-License-Identifier: MIT */
/* Makes signatures by running ssh-keygen(1), to which keys, agents, tokens and passphrases belong, and adds signatures
 * to versions. */
#pragma once
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"
#include "image/catalogue/version.h"
#include "trust/statement.h"

/* Signs a statement with the key that ssh-keygen -f names. *ret, for free(3), is the text of one signature, which was
 * checked. ssh-keygen may ask on the terminal. */
must_check int signing_make(const char *key, const struct statement *statement, char **ret, size_t *ret_length,
			    struct error *err);
/* Puts statement and signature together, as the text of one signature. *ret is for free(3). */
must_check int signing_join(const struct statement *statement, struct span armour, char **ret, size_t *ret_length,
			    struct error *err);
/* Checks each signature of the text, by whomever it is, and adds it to the version, on the volume with this UUID.
 * -EKEYREJECTED, with the reason: one of them is not of this version, and none was added; -EBADMSG: it is malformed. */
must_check int signing_add(struct version *version, const uint8_t volume[16], struct span text, struct error *err);
