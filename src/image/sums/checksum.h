/* SPDX-License-Identifier: MIT */
/* xxHash: computes chunk sums, the superblock's checksum, keys of equal content. README.md says who checks them. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "image/sums/checksum_key.h"

uint64_t checksum_64(const void *bytes, size_t length);
/* Computes the sum of pieces that lie apart in memory. */
uint64_t checksum_64_pieces(const struct iovec *pieces, int count);
struct checksum_key checksum_128(const void *bytes, size_t length);
