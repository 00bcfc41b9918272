/* SPDX-License-Identifier: MIT */
/* The only user of libcrypto. */
#include "image/sums/sha256.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>

struct sha256 {
	EVP_MD_CTX *context;
	bool failed;
};

struct sha256 *sha256_new(void)
{
	struct sha256 *sha = calloc(1, sizeof(*sha));

	if (!sha)
		return NULL;
	sha->context = EVP_MD_CTX_new();
	if (!sha->context || EVP_DigestInit_ex(sha->context, EVP_sha256(), NULL) != 1) {
		sha256_free(sha);
		return NULL;
	}
	return sha;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t length)
{
	if (EVP_DigestUpdate(sha->context, bytes, length) != 1)
		sha->failed = true; /* reported at the end; an update can fail only for lack of memory */
}

int sha256_end(struct sha256 *sha, uint8_t out[SHA256_SIZE], struct error *err)
{
	if (sha->failed || EVP_DigestFinal_ex(sha->context, out, NULL) != 1)
		return error_no_memory(err);
	return 0;
}

void sha256_free(struct sha256 *sha)
{
	if (!sha)
		return;
	EVP_MD_CTX_free(sha->context);
	free(sha);
}

int sha256_of(const void *bytes, size_t length, uint8_t out[SHA256_SIZE], struct error *err)
{
	struct sha256 *sha = sha256_new();
	int r;

	if (!sha)
		return error_no_memory(err);
	sha256_add(sha, bytes, length);
	r = sha256_end(sha, out, err);
	sha256_free(sha);
	return r;
}
