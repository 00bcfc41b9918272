/* SPDX-License-Identifier: MIT */
/* The dump: a text that describes a version without any address on the volume. Its SHA-256 is the digest. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/catalogue.h"
#include "image/catalogue/version.h"
#include "image/index.h"

/* Passes the text to put() in pieces, which need not end with a line. put() returns 0 or a negative errno. The format
 * is in datasetfs-volume(5), DUMP. */
must_check int dump_text(struct index *index, int (*put)(void *argument, const char *text, size_t length),
			 void *argument, struct error *err);
must_check int dump_digest(struct index *index, uint8_t digest[32], struct error *err);
/* Computes the digest of a loaded version, whatever its catalogue says. -EBADMSG, by catalogue_refuse_digest(): it is
 * not the expected one. */
must_check int dump_check_digest(struct index *index, const struct version *version, const uint8_t expected[32],
				 const struct catalogue *catalogue, struct error *err);
