/* SPDX-License-Identifier: MIT */
/* Owns the types of little-endian integers as they lie on the volume. They need no alignment, and the compiler refuses
 * arithmetic on them: dsfs_leNN_get() converts to the byte order of the machine, dsfs_leNN_of() from it. */
#pragma once
#include <endian.h>
#include <stdint.h>
#include <string.h>

typedef struct {
	uint8_t b[2];
} dsfs_le16;
typedef struct {
	uint8_t b[4];
} dsfs_le32;
typedef struct {
	uint8_t b[8];
} dsfs_le64;

static inline uint32_t dsfs_le16_get(dsfs_le16 v)
{
	uint16_t n;

	memcpy(&n, v.b, sizeof(n));
	return le16toh(n);
}

static inline dsfs_le16 dsfs_le16_of(uint16_t n)
{
	dsfs_le16 v;

	n = htole16(n);
	memcpy(v.b, &n, sizeof(n));
	return v;
}

static inline uint32_t dsfs_le32_get(dsfs_le32 v)
{
	uint32_t n;

	memcpy(&n, v.b, sizeof(n));
	return le32toh(n);
}

static inline dsfs_le32 dsfs_le32_of(uint32_t n)
{
	dsfs_le32 v;

	n = htole32(n);
	memcpy(v.b, &n, sizeof(n));
	return v;
}

static inline uint64_t dsfs_le64_get(dsfs_le64 v)
{
	uint64_t n;

	memcpy(&n, v.b, sizeof(n));
	return le64toh(n);
}

static inline dsfs_le64 dsfs_le64_of(uint64_t n)
{
	dsfs_le64 v;

	n = htole64(n);
	memcpy(v.b, &n, sizeof(n));
	return v;
}
