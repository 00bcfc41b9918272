/* SPDX-License-Identifier: MIT */
/* Bytes of a datasetfs volume. The prose and the rules R1.. that a reader must check are in
 * datasetfs-volume(5); this file is the authority for offsets and limits.
 *
 *   0 .. 512 KiB      superblock ring: 8 slots of 4 KiB, 64 KiB apart
 *   512 KiB           publisher record, 4 KiB: who is publishing now
 *   1 MiB ..          data, in segments: chunks, index sections, catalogues
 *
 * All integers are little-endian. Every reserved byte is zero when written and ignored when read.
 * Lengths and addresses are bytes unless said otherwise. */
#pragma once
#include <stddef.h>

#include "datasetfs/le.h"

#define DSFS_MAGIC           "\x89" "DSFS\r\n\x1a" /* not text; broken by newline conversion */
#define DSFS_CATALOGUE_MAGIC "DSFSCAT\n"
#define DSFS_PUBLISHER_MAGIC "DSFSPUB\n"
#define DSFS_FINE_MAGIC      "DSFSFIN\n"
#define DSFS_FORMAT          1 /* changes only when an old reader cannot parse at all */

#define DSFS_BLOCK           4096u /* unit of device reads; covers 512- and 4096-byte sectors */
#define DSFS_SLOT_COUNT      8u
#define DSFS_SLOT_SPACING    65536u
#define DSFS_PUBLISHER_AT    524288u
#define DSFS_DATA_AT         1048576u

/* Limits: what a reader may refuse before it allocates. */
#define DSFS_SEGMENT_LOG_MIN 20u
#define DSFS_SEGMENT_LOG_MAX 30u
#define DSFS_CHUNK_LOG_MIN   12u
#define DSFS_CHUNK_LOG_MAX   20u
#define DSFS_MEMBER_MAX      254u        /* members are numbered 0..254; 255 means "in the index" */
#define DSFS_LABEL_MAX       127u        /* bytes of a label, without the NUL */
#define DSFS_NAME_MAX        255u        /* bytes of a name */
#define DSFS_LINK_MAX        4095u       /* bytes of a symlink target */
#define DSFS_XATTRS_MAX      65536u      /* bytes of one xattr set, header included */
#define DSFS_VERSIONS_MAX    4096u
#define DSFS_EXTENTS_MAX     (1u << 24)  /* extents in a catalogue */
#define DSFS_CATALOGUE_MAX   (1u << 29)  /* bytes of a catalogue */
#define DSFS_ORDINAL_BITS    40u
#define DSFS_SEQUENCE_MAX    0xfffffeu   /* version sequence numbers are 1..this */
#define DSFS_FILE_MAX        (UINT64_C(1) << 62)
#define DSFS_HOLES_MAX       (1u << 28)  /* chunks in the long holes of all files of a version */
#define DSFS_SHARED_MAX      (1u << 20)  /* bytes of a file that may share chunk records with others */

/* Feature words. A reader ignores unknown COMPAT bits and refuses unknown INCOMPAT bits; a program
 * that rewrites the structure must know every bit of both. Bits are never reused or renumbered. */
#define DSFS_COMPAT_KNOWN           UINT64_C(0)
#define DSFS_INCOMPAT_KNOWN         UINT64_C(0)
#define DSFS_VERSION_COMPAT_KNOWN   UINT64_C(0)
#define DSFS_VERSION_INCOMPAT_ZSTD  (UINT64_C(1) << 0) /* some chunks are zstd frames */
#define DSFS_VERSION_INCOMPAT_HOLES (UINT64_C(1) << 1) /* some files have lists of long holes */
#define DSFS_VERSION_INCOMPAT_KNOWN (DSFS_VERSION_INCOMPAT_ZSTD | DSFS_VERSION_INCOMPAT_HOLES)

/* A device address: member number in the top 8 bits, byte offset on that member below.
 * Address 0 is "nothing" (a hole). Member DSFS_IN_INDEX: the offset counts in the index's blob. */
#define DSFS_ADDRESS_BITS 56u
#define DSFS_IN_INDEX     255u

/* A run of bytes on one member. */
struct dsfs_extent {
	le64 address; /* 00: device address, a multiple of DSFS_BLOCK */
	le64 length;  /* 08: bytes */
};

/* One slot of the superblock ring; slot n lies at n * DSFS_SLOT_SPACING on every member.
 * The valid slot with the highest sequence wins. A publish writes slot (sequence % DSFS_SLOT_COUNT). */
struct dsfs_superblock {
	uint8_t magic[8];             /* 000: DSFS_MAGIC, without the NUL */
	le32 format;                  /* 008: DSFS_FORMAT */
	le32 segment_log;             /* 00c: log2 of the segment size */
	le64 feature_compat;          /* 010: DSFS_COMPAT_* */
	le64 feature_incompat;        /* 018: DSFS_INCOMPAT_* */
	uint8_t volume_uuid[16];      /* 020: identity of the volume */
	le64 sequence;                /* 030: counts superblocks written, from 1 */
	le64 member_size;             /* 038: bytes this member must have; a shorter one is truncated */
	le32 member;                  /* 040: number of this member */
	le32 member_count;            /* 044: members of the volume */
	struct dsfs_extent catalogue; /* 048: where the catalogue lies */
	uint8_t catalogue_sha256[32]; /* 058: SHA-256 of the catalogue's bytes */
	uint8_t identity[128];        /* 078: NUL-padded namespace identity at publish time, or empty */
	uint8_t reserved[3840];       /* 0f8: zero */
	le64 checksum;                /* ff8: XXH3-64 of the bytes before it */
};

/* Who is publishing; all zero when nobody is. Advice to people: the lock is elsewhere. */
struct dsfs_publisher {
	uint8_t magic[8];       /* 000: DSFS_PUBLISHER_MAGIC, without the NUL */
	le64 since;             /* 008: seconds since the epoch */
	le64 process;           /* 010: process number on that host */
	uint8_t host[256];      /* 018: NUL-padded host name */
	uint8_t reserved[3808]; /* 118: zero */
	le64 checksum;          /* ff8: XXH3-64 of the bytes before it */
};

/* The source section of a version: for ordinal n at (n - 1) * 8 an le64, the inode number that the file had in the
 * source; behind those of all inodes for ordinal n an le64, the time of the inode's last change there in ns. 0, and
 * nothing behind the section's end, for what is not remembered. */

/* The catalogue: this header, then version_count records, then extent_count extents. */
struct dsfs_catalogue {
	uint8_t magic[8];        /* 00: DSFS_CATALOGUE_MAGIC, without the NUL */
	le32 version_count;      /* 08: records that follow */
	le32 extent_count;       /* 0c: extents that follow the records */
	le64 next_sequence;      /* 10: sequence of the next version; never reused */
	le64 current;            /* 18: sequence of the current version, 0 when there is none */
	le64 tail;               /* 20: address where the next publish may continue, 0 for a fresh segment */
	uint8_t volume_uuid[16]; /* 28: as in the superblock */
	le64 reserved;           /* 38: zero */
};

enum { DSFS_SUM_XXH3_64 = 1 };

/* One version. Records are in ascending order of sequence. */
struct dsfs_version {
	uint8_t label[128];       /* 000: NUL-padded, unique on the volume */
	uint8_t uuid[16];         /* 080: identity of this version */
	uint8_t digest[32];       /* 090: SHA-256 of the version's dump */
	uint8_t index_sha256[32]; /* 0b0: SHA-256 of the index section */
	le64 sequence;            /* 0d0: number of the version on this volume, from 1 */
	le64 created;             /* 0d8: seconds since the epoch, 0 when not recorded */
	le64 feature_compat;      /* 0e0: DSFS_VERSION_COMPAT_* */
	le64 feature_incompat;    /* 0e8: DSFS_VERSION_INCOMPAT_* */
	le32 chunk_log;           /* 0f0: log2 of the chunk size */
	le32 chunk_sum;           /* 0f4: DSFS_SUM_*: kind of the chunk sums */
	le32 first_segment;       /* 0f8: first of the extents that list the segments it uses */
	le32 segment_count;       /* 0fc: how many extents */
	le32 first_index;         /* 100: first of the extents that hold the index section */
	le32 index_extents;       /* 104: how many extents */
	le64 index_length;        /* 108: bytes of the index section */
	le64 names_length;        /* 110: index part 1, an LMDB file; a multiple of DSFS_BLOCK */
	le64 inode_count;         /* 118: index part 2: inodes, ordinals 1..inode_count */
	le64 chunk_count;         /* 120: index part 3: chunks */
	le64 class_count;         /* 128: index part 4: attribute classes */
	le64 blob_length;         /* 130: index part 5: symlink targets, xattrs, very small files */
	le64 entry_count;         /* 138: names in all directories */
	le64 file_count;          /* 140: regular files (inodes) */
	le64 directory_count;     /* 148: directories, the root included */
	le64 symlink_count;       /* 150: symlinks */
	le64 content_bytes;       /* 158: sum of the file sizes */
	le64 stored_bytes;        /* 160: bytes of chunks written for this version, padding included */
	struct dsfs_extent source; /* 168: the publisher's memory of its source, length 0 when absent */
	uint8_t source_sha256[32]; /* 178: its SHA-256 */
	struct dsfs_extent fine;   /* 198: sums for the insides of chunks, length 0 when absent */
	uint8_t fine_sha256[32];   /* 1a8: SHA-256 of their head */
	uint8_t reserved[56];      /* 1c8: zero */
};

/* Index part 1, names: an LMDB 0.9 file (64-bit, little-endian, 4 KiB pages) with one database.
 *   key    5 bytes parent ordinal, big-endian, then the name      value  struct dsfs_entry
 *   key    5 bytes parent ordinal, 00, 4 bytes n, big-endian      value  the name of entry n * DSFS_MARK_EVERY
 * Entries of a directory are in bytewise order of their names. Ordinals are given breadth-first: in key
 * order each entry has either the next unused ordinal or, for a hard link, one already used. */
#define DSFS_KEY_PARENT 5u
#define DSFS_MARK_EVERY 128u /* marks n = 1, 2, … make a directory position cheap to find again */

struct dsfs_entry {
	uint8_t ordinal[5]; /* 00: little-endian */
	uint8_t type;       /* 05: file type as in the mode: 4 directory, 8 regular, 10 symlink */
};

/* Index part 2: inode with ordinal n at (n - 1) * 32. Part starts are rounded up to DSFS_BLOCK. */
#define DSFS_WHERE_SPARSE (UINT64_C(1) << 63) /* the file has holes */
#define DSFS_WHERE_HOLES  (UINT64_C(1) << 62) /* where is the head of its list of long holes */

struct dsfs_inode {
	le64 mtime; /* 00: (seconds + 2^31) << 30 | nanoseconds: 1901-12-13 .. 2446-05-10 */
	le64 size;  /* 08: file: bytes; directory: entries; symlink: bytes of the target */
	le64 where; /* 10: file: first chunk, | SPARSE, | HOLES; directory: parent; symlink: target in the blob */
	le32 class; /* 18: attribute class */
	le32 nlink; /* 1c: names of a file, 2 + subdirectories of a directory */
};

/* Index part 3: a chunk. Chunk i of a file holds its bytes from i << chunk_log on. */
#define DSFS_STORED_BITS 28u
enum { DSFS_CODEC_RAW = 0, DSFS_CODEC_ZSTD = 1 };

struct dsfs_chunk {
	le64 address; /* 00: device address; 0: a hole, all zeros */
	le64 sum;     /* 08: sum of the content (not of the stored bytes); 0 for a hole */
	le32 stored;  /* 10: bits 0..27 bytes on the volume, bits 28..31 DSFS_CODEC_* */
};

/* Among the chunks: a hole of many chunks, which have no records of their own. Behind the records of a file's other
 * chunks lies the head of its list, then its long holes in order. */
struct dsfs_hole {
	le64 address; /* 00: 0, as of any hole */
	le64 first;   /* 08: its first chunk in the file; in the head: how many holes follow */
	le32 total;   /* 10: chunks of this hole and of those before it in the list; in the head: 0 */
};

/* Index part 4: attributes that many inodes share. */
struct dsfs_class {
	le32 mode;     /* 00: type and permissions, as st_mode */
	le32 uid;      /* 04 */
	le32 gid;      /* 08 */
	le32 reserved; /* 0c: zero */
	le64 xattrs;   /* 10: 1 + offset of the xattr set in the blob, 0 for none */
};

/* Index part 5 holds xattr sets: this header, then for each attribute a dsfs_xattr, its name and value.
 * Names are whole ("user.label") and in bytewise order. */
struct dsfs_xattr_set {
	le32 count;  /* 00: attributes */
	le32 length; /* 04: bytes of the set, this header included */
};

struct dsfs_xattr {
	le32 name_length;  /* 00: bytes, 1..255, no NUL */
	le32 value_length; /* 04: bytes */
};

/* The fine section: sums of the DSFS_BLOCK bytes long blocks of chunks, so that a part of a chunk can be read and
 * verified without the rest of it. It names no place and nothing but numbers of chunks.
 *   head    this header; a bitmap, bit n % 8 of byte n / 8 set when chunk n has a row, rounded up to 8 bytes; for each
 *           page an le64, the sum of its bytes. Padded with zeros to DSFS_BLOCK.
 *   pages   DSFS_BLOCK bytes each: rows, in the order of their chunks, each 2^chunk_log / DSFS_BLOCK le64: the sums of
 *           the chunk's blocks, 0 behind its end. Padded with zeros to DSFS_BLOCK. */
struct dsfs_fine {
	uint8_t magic[8]; /* 00: DSFS_FINE_MAGIC, without the NUL */
	le64 chunk_count; /* 08: bits of the bitmap, as in the version */
	le64 row_count;   /* 10: how many of them are set */
	le64 reserved;    /* 18: zero */
};

#define DSFS_AT(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), #type "." #field " moved")
#define DSFS_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " changed size")

DSFS_AT(dsfs_superblock, catalogue, 0x048);
DSFS_AT(dsfs_superblock, identity, 0x078);
DSFS_AT(dsfs_superblock, checksum, 0xff8);
DSFS_AT(dsfs_publisher, host, 0x018);
DSFS_AT(dsfs_publisher, checksum, 0xff8);
DSFS_AT(dsfs_catalogue, volume_uuid, 0x28);
DSFS_AT(dsfs_version, sequence, 0x0d0);
DSFS_AT(dsfs_version, index_length, 0x108);
DSFS_AT(dsfs_version, source, 0x168);
DSFS_AT(dsfs_version, fine, 0x198);
DSFS_AT(dsfs_inode, class, 0x18);
DSFS_AT(dsfs_chunk, stored, 0x10);
DSFS_AT(dsfs_class, xattrs, 0x10);
DSFS_SIZE(dsfs_extent, 16);
DSFS_SIZE(dsfs_superblock, 4096);
DSFS_SIZE(dsfs_publisher, 4096);
DSFS_SIZE(dsfs_catalogue, 64);
DSFS_SIZE(dsfs_version, 512);
DSFS_SIZE(dsfs_entry, 6);
DSFS_SIZE(dsfs_inode, 32);
DSFS_SIZE(dsfs_chunk, 20);
DSFS_SIZE(dsfs_hole, 20);
DSFS_SIZE(dsfs_class, 24);
DSFS_SIZE(dsfs_xattr_set, 8);
DSFS_SIZE(dsfs_xattr, 8);
DSFS_SIZE(dsfs_fine, 32);
