/* SPDX-License-Identifier: MIT */
/* Checks the digest that a mount option digest= asks for. */
#pragma once
#include "base/error.h"
#include "image/catalogue.h"
#include "image/index.h"
#include "serve/serve.h"

/* -EBADMSG: the loaded version has another one. */
must_check int digest_check(const struct serve_options *options, struct index *index, const struct version *version,
			    struct error *err);
