/* SPDX-License-Identifier: MIT */
/* SHA-256 through libcrypto: index sections, catalogues, digests of versions, sums of content. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

#define SHA256_SIZE 32

struct sha256;

struct sha256 *sha256_new(void); /* NULL: out of memory */
void sha256_add(struct sha256 *sha, const void *bytes, size_t length);
must_check int sha256_end(struct sha256 *sha, uint8_t out[SHA256_SIZE], struct error *err);
void sha256_free(struct sha256 *sha);
/* Hashes bytes in one call. */
must_check int sha256_of(const void *bytes, size_t length, uint8_t out[SHA256_SIZE], struct error *err);
/* Hashes bytes that lie in pieces, and takes no memory. */
void sha256_of_pieces(const struct iovec *pieces, int count, uint8_t out[SHA256_SIZE]);
