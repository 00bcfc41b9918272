/* SPDX-License-Identifier: MIT */
/* Checks a version against the mount option digest=. */
#pragma once
#include "base/error.h"
#include "image/catalogue.h"
#include "image/index.h"
#include "serve/serve.h"

/* Compares the digest of a loaded index with the option's; 0 without the option. -EBADMSG: they differ. */
must_check int digest_check(const struct serve_options *options, struct index *index, const struct version *version,
			    struct error *err);
