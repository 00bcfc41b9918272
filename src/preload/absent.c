/* SPDX-License-Identifier: MIT */
/* Replaces parts of libdatasetfs that a preloaded library must not have: rings and threads, which the program did not
 * ask for, and indexes of its own. An index that a daemon hands over was checked by it; one that must be read from the
 * volume, into the program's memory, is refused. */
#include <errno.h>

#include "image/catalogue/sections.h"
#include "lib/direct/engines.h"
#include "trust/trust.h"

struct engine *engines_make_many(const struct engine_setup *setup, bool has_ring)
{
	(void)setup;
	(void)has_ring;
	return NULL;
}

int sections_read(const struct sections_query *query, uint8_t *to, struct error *err)
{
	(void)query;
	(void)to;
	return error_set(err, -ENOSYS, "a preloaded library reads no index");
}

/* A mount's own trust= has decided what its daemon hands over; a program of its own asks for nothing more. */
int trust_check(const struct trust *trust, const struct version *version, const uint8_t volume[16],
		struct trust_signer *ret, struct error *err)
{
	(void)version;
	(void)volume;
	*ret = (struct trust_signer){ .name = "" };
	return trust->signers ? error_set(err, -ENOSYS, "no libcrypto in a preloaded library") : 0;
}
