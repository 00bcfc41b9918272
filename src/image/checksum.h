/* SPDX-License-Identifier: MIT */
/* xxHash: computes chunk sums, the superblock's checksum, keys of equal content. Who checks them: README.md. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "image/checksum_key.h"

uint64_t checksum_64(const void *bytes, size_t length);
/* The sum of pieces that lie apart in memory. */
uint64_t checksum_64_pieces(const struct iovec *pieces, int count);
struct checksum_key checksum_128(const void *bytes, size_t length);
