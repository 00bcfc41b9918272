/* SPDX-License-Identifier: MIT */
/* A catalogue's bytes; what decodes must encode to something that decodes to the same. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "image/catalogue.h"

static const struct superblock super = {
	.sequence = 1, .member_size = 64u << 20, .member_count = 1, .segment_log = 24
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct catalogue catalogue = { 0 }, again = { 0 };
	uint8_t *encoded;
	uint64_t size;

	if (catalogue_decode(bytes, length, &super, &catalogue, NULL) < 0)
		return 0;
	if (catalogue_encode(&catalogue, &encoded, &size, NULL) < 0 ||
	    catalogue_decode(encoded, size, &super, &again, NULL) < 0 || again.current != catalogue.current ||
	    again.version_count != catalogue.version_count)
		__builtin_trap();
	free(encoded);
	catalogue_free(&again);
	catalogue_free(&catalogue);
	return 0;
}
