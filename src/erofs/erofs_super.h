/* SPDX-License-Identifier: MIT */
/* The beginning of an image: the superblock and the table of devices. */
#pragma once
#include "base/error.h"
#include "image/index.h"
#include "image/version.h"

/* Where an image ends its parts, in blocks, and what that makes of addresses. */
struct erofs_geometry {
	bool is_indexed; /* the volume's blocks are named by device and block, as 32 bits do not number all of them */
	bool is_48bit;   /* nor those of one member */
	uint64_t xattr_block, data_block, blocks;
	uint64_t root_nid;
	uint64_t starts[DSFS_MEMBER_MAX + 1]; /* unless indexed: of each member, among all blocks */
};

/* Chooses how blocks are named. */
void erofs_super_choose(const struct index *index, struct erofs_geometry *geometry);
/* Bytes of the beginning, whole blocks, as the first one has a checksum: then come inodes. */
uint64_t erofs_super_bytes(const struct index *index);
/* Puts the members behind the image. -EFBIG: it has more blocks than are left for it. */
must_check int erofs_super_number(const struct index *index, struct erofs_geometry *geometry, struct error *err);
must_check int erofs_super_write(const struct index *index, const struct version *version,
				 const struct erofs_geometry *geometry, int fd, struct error *err);
