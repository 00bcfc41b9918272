/* SPDX-License-Identifier: MIT */
/* Little-endian integers as they lie on the volume. They need no alignment, and the compiler refuses
 * arithmetic on them: leNN_get() converts to the byte order of the machine, leNN_of() from it. */
#pragma once
#include <endian.h>
#include <stdint.h>
#include <string.h>

typedef struct {
	uint8_t b[2];
} le16;
typedef struct {
	uint8_t b[4];
} le32;
typedef struct {
	uint8_t b[8];
} le64;

static inline uint32_t le16_get(le16 v)
{
	uint16_t n;

	memcpy(&n, v.b, sizeof(n));
	return le16toh(n);
}

static inline uint32_t le32_get(le32 v)
{
	uint32_t n;

	memcpy(&n, v.b, sizeof(n));
	return le32toh(n);
}

static inline le32 le32_of(uint32_t n)
{
	le32 v;

	n = htole32(n);
	memcpy(v.b, &n, sizeof(n));
	return v;
}

static inline uint64_t le64_get(le64 v)
{
	uint64_t n;

	memcpy(&n, v.b, sizeof(n));
	return le64toh(n);
}

static inline le64 le64_of(uint64_t n)
{
	le64 v;

	n = htole64(n);
	memcpy(v.b, &n, sizeof(n));
	return v;
}
