/* SPDX-License-Identifier: MIT */
/* Computes the digest from the index and does not trust the one in the catalogue. */
#include "serve/opening/digest.h"

#include <errno.h>
#include <string.h>

#include "base/format.h"
#include "image/dump.h"

int digest_check(const struct serve_options *options, struct index *index, const struct version *version,
		 struct error *err)
{
	char found_text[DIGEST_TEXT_SIZE], expected_text[DIGEST_TEXT_SIZE];
	uint8_t found[32];
	int r;

	if (!options->has_digest)
		return 0;
	r = dump_digest(index, found, err);
	if (r < 0 || !memcmp(found, options->digest, sizeof(found)))
		return r;
	format_digest(found, found_text);
	format_digest(options->digest, expected_text);
	return error_set(err, -EBADMSG,
			 "version '%s' has the digest %s, expected %s: 'datasetfsctl list --json %s' shows which "
			 "version has that one, choose it with version=",
			 version->label, found_text, expected_text, options->volume);
}
