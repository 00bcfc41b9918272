/* SPDX-License-Identifier: MIT */
/* Whether a version may be opened: it must be signed by a key that the user's own file allows. The volume's own claims
 * count for nothing here. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/version.h"
#include "image/index.h"
#include "trust/signers.h"
#include "trust/sshkey.h"

/* The files that say whom the user trusts. Both are read anew for each version, so that changes take effect
 * without a new mount. */
struct trust {
	const char *signers; /* file of allowed signers; NULL: every version may be opened */
	const char *revoked; /* file of revoked keys; NULL: none are */
};

/* Tells of a version with XXH3-64, by its label, how much a "signature" or "digest" proves. */
#define TRUST_FORGEABLE                                                                                             \
	"version '%s': the %s proves names, sizes and attributes; sums of contents (xxh3-64) find accidents, but can " \
	"be forged: pack with --sums sha256"

/* By whom a version is signed. */
struct trust_signer {
	char name[SIGNERS_NAME_SIZE]; /* as the file of allowed signers calls him; "": trust was not asked for */
	char key[SSHKEY_FINGERPRINT_SIZE];
	uint64_t date; /* of the version, in the statement that was signed: seconds since the epoch */
};

/* Checks that one signature of the version is by an allowed key, over a statement of this version on the volume with
 * this UUID. Takes no I/O but for the two files. -EKEYREJECTED, with the reason: no signature does. Without signers in
 * trust, succeeds and empties *ret. */
must_check int trust_check(const struct trust *trust, const struct version *version, const uint8_t volume[16],
			   struct trust_signer *ret, struct error *err);
