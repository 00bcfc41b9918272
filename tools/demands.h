/* SPDX-License-Identifier: MIT */
/* Loads the index of a version if it meets the demands of the user (--trust, --revoked and --digest) or of the named
 * mount (its version or its options). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/version.h"
#include "image/index.h"
#include "trust/trust.h"
#include "volume.h"

struct demands {
	struct trust trust;
	bool has_digest;
	uint8_t digest[32]; /* that the version must have, if has_digest */
};

/* Checks that the options go together. */
must_check int demands_check(const struct demands *demands, struct error *err);
/* Loads the index. -EKEYREJECTED: no signer who counts has signed the version; -EBADMSG: it has another digest than the
 * user expects, the signature covers, or the mount serves. If the mount serves another version, its options trust,
 * revoked and digest count. */
must_check int demands_load(const struct demands *demands, const struct volume *volume, const struct version *version,
			    struct index **ret, struct error *err);
/* Finds the version called label, as volume_version() does, and loads its index. */
must_check int demands_open(const struct demands *demands, const struct volume *volume, const char *label,
			    const struct version **ret_version, struct index **ret_index, struct error *err);
