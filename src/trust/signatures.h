/* SPDX-License-Identifier: MIT */
/* The signatures of a version, as the catalogue keeps them and as `datasetfsctl sign` reads them: a text with, for
 * each, the statement that was signed and behind it the signature. */
#pragma once
#include "base/error.h"
#include "base/span.h"
#include "image/catalogue/version.h"
#include "trust/sshsig.h"
#include "trust/statement.h"

struct signature {
	struct span statement, armour; /* point into the text */
};

/* Takes the next signature off the text. 1: there was one; 0: the text is at its end; -EBADMSG: it is malformed. */
must_check int signatures_next(struct span *text, struct signature *ret, struct error *err);
/* Takes a signature apart, and checks that it is good, by its own key, over a statement of this version on the volume
 * with this UUID. *ret_sshsig must not move. -EBADMSG: it is malformed; -EKEYREJECTED: it is not good, or of something
 * else. Whether its key counts is for others to say. */
must_check int signatures_verify(const struct signature *signature, const struct version *version,
				 const uint8_t volume[16], struct statement *ret_statement, struct sshsig *ret_sshsig,
				 struct error *err);
/* Adds a signature to a version, in the place of one by the same key if there is one. The caller has checked that it is
 * well formed. -E2BIG: there is no room for it. */
must_check int signatures_add(struct version *version, const struct signature *signature, struct error *err);
/* Returns the text of a version's signatures. */
static inline struct span signatures_of(const struct version *version)
{
	return span_of(version->signatures, version->signature_bytes);
}
