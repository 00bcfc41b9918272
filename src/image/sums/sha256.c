/* SPDX-License-Identifier: MIT */
/* Uses the functions for SHA-256 alone, which OpenSSL calls deprecated, and not those for any digest. They use the
 * CPU's instructions as well, but take no memory and 0.3 us less for each sum, and are so little code that a preloaded
 * library can have a copy of its own. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "image/sums/sha256.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdlib.h>

struct sha256 {
	SHA256_CTX context;
};

struct sha256 *sha256_new(void)
{
	struct sha256 *sha = malloc(sizeof(*sha));

	if (sha)
		SHA256_Init(&sha->context);
	return sha;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t length)
{
	SHA256_Update(&sha->context, bytes, length);
}

int sha256_end(struct sha256 *sha, uint8_t out[SHA256_SIZE], struct error *err)
{
	return SHA256_Final(out, &sha->context) == 1 ? 0 : error_set(err, -EIO, "libcrypto cannot compute a SHA-256");
}

void sha256_free(struct sha256 *sha)
{
	free(sha);
}

int sha256_of(const void *bytes, size_t length, uint8_t out[SHA256_SIZE], struct error *err)
{
	struct sha256 sha;

	SHA256_Init(&sha.context);
	sha256_add(&sha, bytes, length);
	return sha256_end(&sha, out, err);
}

void sha256_of_pieces(const struct iovec *pieces, int count, uint8_t out[SHA256_SIZE])
{
	SHA256_CTX context;

	SHA256_Init(&context);
	for (int i = 0; i < count; i++)
		SHA256_Update(&context, pieces[i].iov_base, pieces[i].iov_len);
	SHA256_Final(out, &context);
}
