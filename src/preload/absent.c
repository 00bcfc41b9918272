/* SPDX-License-Identifier: MIT */
/* Replaces parts of libdatasetfs that a preloaded library must not have: rings and threads, which the program did not
 * ask for, and libcrypto, whose symbols would stand in front of the program's. An index that a daemon hands over was
 * checked by it; an index that must be read from the volume, and checked, is refused. */
#include <errno.h>

#include "image/sums/sha256.h"
#include "io/engine.h"

int ring_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	(void)setup;
	(void)ret;
	return error_set(err, -ENOSYS, "no ring");
}

int pool_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	(void)setup;
	(void)ret;
	return error_set(err, -ENOSYS, "no threads");
}

struct sha256 {
	char nothing;
};

/* Succeeds, as only sha256_end() is to report the failure. */
struct sha256 *sha256_new(void)
{
	static struct sha256 none;

	return &none;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t length)
{
	(void)sha;
	(void)bytes;
	(void)length;
}

int sha256_end(struct sha256 *sha, uint8_t out[SHA256_SIZE], struct error *err)
{
	(void)sha;
	(void)out;
	return error_set(err, -ENOSYS, "no SHA-256 in a preloaded library");
}

void sha256_free(struct sha256 *sha)
{
	(void)sha;
}

int sha256_of(const void *bytes, size_t length, uint8_t out[SHA256_SIZE], struct error *err)
{
	(void)bytes;
	(void)length;
	return sha256_end(NULL, out, err);
}
