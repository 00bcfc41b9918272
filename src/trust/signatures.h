/* SPDX-License-Identifier: MIT */
/* The signatures of a version, as the catalogue keeps them and as `datasetfsctl sign` reads them: a text with, for
 * each, the statement that was signed and behind it the signature. */
#pragma once
#include "base/error.h"
#include "base/span.h"
#include "image/catalogue/version.h"

struct signature {
	struct span statement, armour; /* point into the text */
};

/* Takes the next signature off the text. 1: there was one; 0: the text is at its end; -EBADMSG: it is malformed. */
must_check int signatures_next(struct span *text, struct signature *ret, struct error *err);
/* Adds a signature to a version, in the place of one by the same key if there is one. The caller has checked that it is
 * well formed. -E2BIG: there is no room for it. */
must_check int signatures_add(struct version *version, const struct signature *signature, struct error *err);
/* Returns the text of a version's signatures. */
static inline struct span signatures_of(const struct version *version)
{
	return span_of(version->signatures, version->signature_bytes);
}
