/* SPDX-License-Identifier: MIT */
/* xxHash: chunk sums, the superblock's checksum, keys of equal content. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct checksum_key {
	uint64_t low, high;
};

uint64_t checksum_64(const void *bytes, size_t length);
/* The sum of pieces that lie apart in memory. */
uint64_t checksum_64_pieces(const struct iovec *pieces, int count);
struct checksum_key checksum_128(const void *bytes, size_t length);

/* A 128-bit sum of bytes that arrive in parts. */
struct checksum_stream;
struct checksum_stream *checksum_stream_new(void); /* NULL without memory */
void checksum_stream_reset(struct checksum_stream *stream);
void checksum_stream_add(struct checksum_stream *stream, const void *bytes, size_t length);
struct checksum_key checksum_stream_end(struct checksum_stream *stream);
void checksum_stream_free(struct checksum_stream *stream);
