/* SPDX-License-Identifier: MIT */
/* The on-disk format of EROFS, as far as a version needs it. The kernel's fs/erofs/erofs_fs.h is the authority; its
 * Documentation/filesystems/erofs.rst and fs/erofs/data.c, which maps blocks, explain the fields. Linux 5.16 and
 * later support all of it except EROFS_INCOMPAT_48BIT, which needs 6.15. */
#pragma once
#include <stddef.h>

#include "datasetfs/le.h"

#define EROFS_BLOCK_LOG      12u
#define EROFS_BLOCK          4096u
#define EROFS_SUPER_AT       1024u
#define EROFS_MAGIC          0xe0f5e1e2u
#define EROFS_SLOT           32u     /* unit of nids: inode n lies at n * EROFS_SLOT in the metadata */
#define EROFS_BLOCKS_32      UINT32_C(0xffffffff) /* as a 32-bit address: a hole; larger addresses need 48 bits */
#define EROFS_HOLE           UINT64_MAX
#define EROFS_CHUNK_BITS_MAX 31u     /* log2 of blocks */
#define EROFS_SHARED_MAX     255u    /* shared attributes of an inode */
#define EROFS_NAME_USER      1u      /* index of the attribute prefix "user." */

#define EROFS_COMPAT_SB_CHKSUM     0x1u
#define EROFS_COMPAT_MTIME         0x2u
#define EROFS_INCOMPAT_CHUNKED     0x4u
#define EROFS_INCOMPAT_DEVICES     0x8u
#define EROFS_INCOMPAT_48BIT       0x80u

/* i_format: bit 0 means an inode of 64 bytes; bits 1 to 3 are the data layout. */
#define EROFS_FORMAT_EXTENDED 1u
enum { EROFS_FLAT_PLAIN = 0, EROFS_FLAT_INLINE = 2, EROFS_CHUNK_BASED = 4 };

/* The format of a chunk-based inode: log2 of the blocks in a chunk, and these flags. */
#define EROFS_CHUNK_INDEXES 0x20u /* entries of 8 bytes (struct erofs_chunk_index), else block addresses of 4 */
#define EROFS_CHUNK_48BIT   0x40u

enum { EROFS_TYPE_FILE = 1, EROFS_TYPE_DIRECTORY = 2, EROFS_TYPE_SYMLINK = 7 };

struct erofs_super {
	dsfs_le32 magic;              /* 00 */
	dsfs_le32 checksum;           /* 04: CRC-32C from here to the block's end, this field 0, not inverted */
	dsfs_le32 feature_compat;     /* 08 */
	uint8_t block_log;            /* 0c */
	uint8_t extension_slots;      /* 0d */
	dsfs_le16 root_nid;           /* 0e: with 48BIT the upper bits of blocks */
	dsfs_le64 inode_count;        /* 10 */
	dsfs_le64 epoch;              /* 18: only for compact inodes, which we never write */
	dsfs_le32 epoch_nsec;         /* 20 */
	dsfs_le32 blocks;             /* 24: of the image itself */
	dsfs_le32 meta_block;         /* 28: where nids begin */
	dsfs_le32 xattr_block;        /* 2c: where shared attributes begin */
	uint8_t uuid[16];             /* 30 */
	char name[16];                /* 40 */
	dsfs_le32 feature_incompat;   /* 50 */
	dsfs_le16 compression;        /* 54 */
	dsfs_le16 device_count;       /* 56: besides the image */
	dsfs_le16 device_slot;        /* 58: of the first device, in units of its size */
	uint8_t directory_log;        /* 5a */
	uint8_t prefix_count;         /* 5b */
	dsfs_le32 prefix_start;       /* 5c */
	dsfs_le64 packed_nid;         /* 60 */
	uint8_t reserved[8];          /* 68 */
	dsfs_le64 root_nid_48;        /* 70: with 48BIT */
	uint8_t reserved2[8];         /* 78 */
};

struct erofs_device {
	uint8_t tag[64];     /* 00: description, for people */
	dsfs_le32 blocks;    /* 40 */
	dsfs_le32 start;     /* 44: first block in a numbering of all devices; 0: addressed by device only */
	dsfs_le32 blocks_hi; /* 48: with 48BIT */
	dsfs_le16 start_hi;  /* 4c */
	uint8_t reserved[50];
};

struct erofs_inode {
	dsfs_le16 format;     /* 00 */
	dsfs_le16 xattrs;     /* 02: 0: none; else 1 + the 4-byte words after struct erofs_xattrs */
	dsfs_le16 mode;       /* 04 */
	dsfs_le16 reserved;   /* 06 */
	dsfs_le64 size;       /* 08 */
	dsfs_le32 data;       /* 10: first block of flat data, or the format of chunks */
	dsfs_le32 number;     /* 14: inode number for a 32-bit stat(2) */
	dsfs_le32 uid;        /* 18 */
	dsfs_le32 gid;        /* 1c */
	dsfs_le64 mtime;      /* 20 */
	dsfs_le32 mtime_nsec; /* 28 */
	dsfs_le32 nlink;      /* 2c */
	uint8_t reserved2[16];
};

struct erofs_chunk_index {
	dsfs_le16 block_hi; /* 00: with EROFS_CHUNK_48BIT */
	dsfs_le16 device;   /* 02: 0: the image, else 1 + index in the device table */
	dsfs_le32 block;    /* 04 */
};

struct erofs_dirent {
	dsfs_le64 nid;         /* 00 */
	dsfs_le16 name_offset; /* 08: in the block */
	uint8_t type;          /* 0a */
	uint8_t reserved;      /* 0b */
};

/* The attributes after an inode: this header, then shared_count numbers of shared attributes (dsfs_le32, in units of
 * 4 bytes), then the inode's own attributes. */
struct erofs_xattrs {
	dsfs_le32 filter;     /* 00 */
	uint8_t shared_count; /* 04 */
	uint8_t reserved[7];  /* 05 */
};

/* An attribute: this header, the name without its prefix, and the value, padded to 4 bytes. */
struct erofs_xattr {
	uint8_t name_length;    /* 00 */
	uint8_t prefix;         /* 01 */
	dsfs_le16 value_length; /* 02 */
};

#define EROFS_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " changed size")
#define EROFS_AT(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), #type "." #field " moved")

EROFS_AT(erofs_super, root_nid, 0x0e);
EROFS_AT(erofs_super, uuid, 0x30);
EROFS_AT(erofs_super, feature_incompat, 0x50);
EROFS_AT(erofs_super, device_slot, 0x58);
EROFS_AT(erofs_super, root_nid_48, 0x70);
EROFS_AT(erofs_inode, data, 0x10);
EROFS_AT(erofs_inode, mtime, 0x20);
EROFS_AT(erofs_device, blocks_hi, 0x48);
EROFS_SIZE(erofs_super, 128);
EROFS_SIZE(erofs_device, 128);
EROFS_SIZE(erofs_inode, 64);
EROFS_SIZE(erofs_chunk_index, 8);
EROFS_SIZE(erofs_dirent, 12);
EROFS_SIZE(erofs_xattrs, 12);
EROFS_SIZE(erofs_xattr, 4);
