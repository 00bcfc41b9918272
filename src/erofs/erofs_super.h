/* SPDX-License-Identifier: MIT */
/* Writes the beginning of an image: the superblock and the table of devices. */
#pragma once
#include "base/error.h"
#include "image/catalogue/version.h"
#include "image/index.h"

/* The first blocks of an image's parts, and how the image addresses blocks of the volume. */
struct erofs_geometry {
	bool is_indexed; /* blocks have a device and a number: 32 bits cannot number those of all members */
	bool is_48bit;   /* 32 bits cannot even number the blocks of one member */
	uint64_t xattr_block, data_block, blocks;
	uint64_t root_nid;
	uint64_t starts[DSFS_MEMBER_MAX + 1]; /* unless is_indexed: first block of each member */
};

/* Chooses how blocks are addressed. */
void erofs_super_choose(const struct index *index, struct erofs_geometry *geometry);
/* Returns the bytes before the first inode: whole blocks, as the superblock's checksum covers the rest of its block. */
uint64_t erofs_super_bytes(const struct index *index);
/* Numbers the members' blocks after those of the image. -EFBIG: the image has more blocks than are reserved for it. */
must_check int erofs_super_number(const struct index *index, struct erofs_geometry *geometry, struct error *err);
must_check int erofs_super_write(const struct index *index, const struct version *version,
				 const struct erofs_geometry *geometry, int fd, struct error *err);
/* Reads the UUID of the version from an image of ours. */
must_check int erofs_super_read_uuid(int fd, uint8_t ret[16], struct error *err);
