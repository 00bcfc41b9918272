/* SPDX-License-Identifier: MIT */
/* The on-disk format of a datasetfs volume. This file is the authority for offsets and limits;
 * datasetfs-volume(5) explains them and has the rules R1 to R82 that a reader must check.
 *
 *   0 to 512 KiB      superblock ring: 8 slots of 4 KiB, 64 KiB apart
 *   512 KiB           publisher record, 4 KiB: who is publishing now
 *   from 1 MiB        data, in segments: chunks, sections, catalogues
 *
 * Integers are little-endian, except those inside the keys of the names. Writers set reserved bytes to zero;
 * readers ignore them. Lengths and addresses are in bytes unless a comment says otherwise. */
#pragma once
#include <stddef.h>

#include "datasetfs/le.h"

#define DSFS_MAGIC           "\x89" "DSFS\r\n\x1a" /* not text; a conversion of line ends breaks it */
#define DSFS_CATALOGUE_MAGIC "DSFSCAT\n"
#define DSFS_PUBLISHER_MAGIC "DSFSPUB\n"
#define DSFS_REPLACEMENT_MAGIC "DSFSREP\n"
#define DSFS_FINE_MAGIC      "DSFSFIN\n"
#define DSFS_FORMAT          1 /* changes only when an old reader cannot parse the volume at all */

#define DSFS_BLOCK           4096u /* unit of device reads; suits sectors of 512 and 4096 bytes */
#define DSFS_SLOT_COUNT      8u       /* superblock slots */
#define DSFS_SLOT_SPACING    65536u   /* bytes from one superblock slot to the next */
#define DSFS_PUBLISHER_AT    524288u  /* offset of the publisher record */
#define DSFS_REPLACEMENT_AT  532480u  /* offset of the record of a replacement */
#define DSFS_REPLACED_AT     536576u  /* offset of the sums of a replacement */
#define DSFS_REPLACED_COUNT  64000u   /* number of these sums */
#define DSFS_DATA_AT         1048576u /* first byte of data */
#define DSFS_HISTORY_MAX     64u      /* earlier catalogues that a catalogue names */
#define DSFS_COPIES_MAX      3u       /* columns of a group of copies */

/* Limits. A reader refuses what exceeds them before it allocates memory. */
#define DSFS_SEGMENT_LOG_MIN 20u         /* log2 of bytes: 1 MiB */
#define DSFS_SEGMENT_LOG_MAX 30u         /* 1 GiB */
#define DSFS_CHUNK_LOG_MIN   12u         /* log2 of bytes: 4 KiB */
#define DSFS_CHUNK_LOG_MAX   20u         /* 1 MiB */
#define DSFS_MEMBER_MAX      254u        /* members are numbered 0 to 254; 255 is DSFS_IN_INDEX */
#define DSFS_LABEL_MAX       127u        /* bytes of a label, without the NUL */
#define DSFS_NAME_MAX        255u        /* bytes of a name */
#define DSFS_LINK_MAX        4095u       /* bytes of the target of a symbolic link */
#define DSFS_XATTRS_MAX      65536u      /* bytes of one xattr set, including its header */
#define DSFS_VERSIONS_MAX    4096u       /* versions on a volume */
#define DSFS_EXTENTS_MAX     (1u << 24)  /* extents in a catalogue */
#define DSFS_CATALOGUE_MAX   (1u << 29)  /* bytes of a catalogue */
#define DSFS_ORDINAL_BITS    40u         /* bits of an ordinal */
#define DSFS_SEQUENCE_MAX    0xfffffeu   /* sequences of versions are 1 to this */
#define DSFS_FILE_MAX        (UINT64_C(1) << 62) /* bytes of a file, and of a member */
#define DSFS_HOLES_MAX       (1u << 28)  /* chunks in all hole lists of a version together */
#define DSFS_SHARED_MAX      (1u << 20)  /* bytes of the largest file that may share chunk records */
#define DSFS_SIGNATURES_MAX  16384u      /* bytes of the signatures of a version */

/* Feature words. A reader ignores unknown COMPAT bits and refuses unknown INCOMPAT bits (R5, R25). A program
 * that changes a volume must know every bit of both words (R65). Bits are never reused or renumbered. */
#define DSFS_COMPAT_KNOWN           UINT64_C(0)
#define DSFS_INCOMPAT_MEMBERS       (UINT64_C(1) << 0) /* the catalogue has a table of members and groups */
#define DSFS_INCOMPAT_KNOWN         DSFS_INCOMPAT_MEMBERS
#define DSFS_VERSION_COMPAT_PLACES  (UINT64_C(1) << 0) /* the blob holds a table of places */
#define DSFS_VERSION_COMPAT_SIGNED  (UINT64_C(1) << 1) /* the catalogue has signatures of the version */
#define DSFS_VERSION_COMPAT_KNOWN   (DSFS_VERSION_COMPAT_PLACES | DSFS_VERSION_COMPAT_SIGNED)
#define DSFS_VERSION_INCOMPAT_ZSTD  (UINT64_C(1) << 0) /* some chunks are zstd frames */
#define DSFS_VERSION_INCOMPAT_HOLES (UINT64_C(1) << 1) /* some files have hole lists */
#define DSFS_VERSION_INCOMPAT_KNOWN (DSFS_VERSION_INCOMPAT_ZSTD | DSFS_VERSION_INCOMPAT_HOLES)

/* A device address has the member number in bits 56 to 63 and the byte offset on that member below them. Address 0
 * marks a hole. With member DSFS_IN_INDEX, the offset counts from the start of the blob in the index. */
#define DSFS_ADDRESS_BITS 56u
#define DSFS_IN_INDEX     255u

/* A run of bytes on one member. */
struct dsfs_extent {
	dsfs_le64 address; /* 00: device address, a multiple of DSFS_BLOCK */
	dsfs_le64 length;  /* 08: bytes */
};

/* One slot of the superblock ring; slot n lies at n * DSFS_SLOT_SPACING on every member. The valid slot with
 * the highest sequence is in force (R10). A publish writes slot sequence % DSFS_SLOT_COUNT. */
struct dsfs_superblock {
	uint8_t magic[8];             /* 000: DSFS_MAGIC, without the NUL */
	dsfs_le32 format;                  /* 008: DSFS_FORMAT */
	dsfs_le32 segment_log;             /* 00c: log2 of the segment size, DSFS_SEGMENT_LOG_MIN to _MAX */
	dsfs_le64 feature_compat;          /* 010: DSFS_COMPAT_* */
	dsfs_le64 feature_incompat;        /* 018: DSFS_INCOMPAT_* */
	uint8_t volume_uuid[16];      /* 020: identity of the volume; never changes */
	dsfs_le64 sequence;                /* 030: counts the superblocks written to the volume, from 1 */
	dsfs_le64 member_size;             /* 038: bytes that this member must have, a multiple of DSFS_BLOCK */
	dsfs_le32 member;                  /* 040: number of this member, from 0 */
	dsfs_le32 member_count;            /* 044: members, 1 to 255; without DSFS_INCOMPAT_MEMBERS 1 (R7) */
	struct dsfs_extent catalogue; /* 048: at DSFS_DATA_AT or later, 64 to DSFS_CATALOGUE_MAX bytes (R9) */
	uint8_t catalogue_sha256[32]; /* 058: SHA-256 of all bytes of the catalogue */
	uint8_t identity[128];        /* 078: NVMe namespace of the last publish, NUL-padded; empty: none */
	uint8_t member_uuid[16];      /* 0f8: identity of this member; zero without DSFS_INCOMPAT_MEMBERS */
	uint8_t reserved[3824];       /* 108: zero */
	dsfs_le64 checksum;                /* ff8: XXH3-64 of the bytes before it */
};

/* The publisher record, all zero when nothing is published. It only informs people: the lock is an exclusive open of
 * the device or a lock on the file. */
struct dsfs_publisher {
	uint8_t magic[8];       /* 000: DSFS_PUBLISHER_MAGIC, without the NUL */
	dsfs_le64 since;             /* 008: when the publish began, seconds since the epoch */
	dsfs_le64 process;           /* 010: process ID on that host */
	uint8_t host[256];      /* 018: NUL-padded host name */
	uint8_t reserved[3808]; /* 118: zero */
	dsfs_le64 checksum;          /* ff8: XXH3-64 of the bytes before it */
};

/* The record of a replacement, on the device that will take the place of a member: how far the copy is. The copying
 * program writes it before the first byte, and fills it with zeros at the end. The sums at DSFS_REPLACED_AT,
 * dsfs_le64, say which columns are complete. */
struct dsfs_replacement {
	uint8_t magic[8];              /* 000: DSFS_REPLACEMENT_MAGIC, without the NUL */
	uint8_t volume_uuid[16];       /* 008: UUID of the volume */
	uint8_t member_uuid[16];       /* 018: member UUID that the device will have */
	dsfs_le64 sequence;            /* 028: sequence of the superblock that was in force */
	uint8_t catalogue_sha256[32];  /* 030: SHA-256 of the catalogue that it names */
	dsfs_le32 member;              /* 050: number of the member */
	dsfs_le32 reserved;            /* 054: zero */
	uint8_t rest[4000];            /* 058: zero */
	dsfs_le64 checksum;            /* ff8: XXH3-64 of the bytes before it */
};

/* The source section of a version holds two arrays of dsfs_le64, one after the other, each with one element for
 * each inode in the order of ordinals: the inode number in the source, then the time of the inode's last
 * change there (ctime, ns since the epoch). 0 means unknown. This struct follows. */
struct dsfs_source {
	uint8_t filesystem[32]; /* 00: identifies the filesystem of the source; zero: unknown, nothing is trusted */
	dsfs_le64 all_xattrs;   /* 20: 1: a file without xattrs here had none in the source; 0: it may have some */
};

/* The catalogue: this header, then version_count records (struct dsfs_version), then extent_count extents, then, with
 * DSFS_INCOMPAT_MEMBERS, the table of members and groups (struct dsfs_members), then the signatures of all versions, a
 * text. */
struct dsfs_catalogue {
	uint8_t magic[8];        /* 00: DSFS_CATALOGUE_MAGIC, without the NUL */
	dsfs_le32 version_count;      /* 08: records that follow, at most DSFS_VERSIONS_MAX */
	dsfs_le32 extent_count;       /* 0c: extents that follow the records, at most DSFS_EXTENTS_MAX */
	dsfs_le64 next_sequence;      /* 10: sequence of the next version; no change lowers it */
	dsfs_le64 current;            /* 18: sequence of the current version; 0: none */
	dsfs_le64 tail;               /* 20: address where the next publish may continue; 0: a new segment, or groups */
	uint8_t volume_uuid[16]; /* 28: as in the superblock */
	dsfs_le64 reserved;           /* 38: zero */
};

/* Kinds of sums of content. A number is never used again for something else; 3 is reserved for BLAKE3. */
enum { DSFS_SUM_XXH3_64 = 1, DSFS_SUM_SHA256 = 2 };
#define DSFS_SUM_MAX   32u    /* bytes of the longest sum */
#define DSFS_SUM_BLOCK 16384u /* bytes of a block of DSFS_SUM_SHA256 */

/* One version. Records are in ascending order of sequence. */
struct dsfs_version {
	uint8_t label[128];       /* 000: NUL-padded, at most DSFS_LABEL_MAX bytes, unique (R15, R22) */
	uint8_t uuid[16];         /* 080: identity of this version */
	uint8_t digest[32];       /* 090: SHA-256 of the version's dump */
	uint8_t index_sha256[32]; /* 0b0: SHA-256 of the index section */
	dsfs_le64 sequence;            /* 0d0: number of the version on this volume, 1 to DSFS_SEQUENCE_MAX */
	dsfs_le64 created;             /* 0d8: seconds since the epoch; 0: not recorded */
	dsfs_le64 feature_compat;      /* 0e0: DSFS_VERSION_COMPAT_* */
	dsfs_le64 feature_incompat;    /* 0e8: DSFS_VERSION_INCOMPAT_* */
	dsfs_le32 chunk_log;           /* 0f0: log2 of the chunk size, DSFS_CHUNK_LOG_MIN to _MAX */
	dsfs_le32 chunk_sum;           /* 0f4: DSFS_SUM_*: kind of the sums of chunks and blocks */
	dsfs_le32 first_segment;       /* 0f8: number of the first extent that lists its segments */
	dsfs_le32 segment_count;       /* 0fc: number of these extents */
	dsfs_le32 first_index;         /* 100: number of the first extent of the index section */
	dsfs_le32 index_extents;       /* 104: number of these extents */
	dsfs_le64 index_length;        /* 108: bytes of the index section */
	dsfs_le64 names_length;        /* 110: bytes of index part 1, an LMDB file; a multiple of DSFS_BLOCK */
	dsfs_le64 inode_count;         /* 118: index part 2: inodes, with ordinals 1 to inode_count */
	dsfs_le64 chunk_count;         /* 120: index part 3: chunk records, and heads and holes of lists */
	dsfs_le64 class_count;         /* 128: index part 4: attribute classes */
	dsfs_le64 blob_length;         /* 130: bytes of index part 5: symlink targets, xattr sets, tiny files */
	dsfs_le64 entry_count;         /* 138: names in all directories together */
	dsfs_le64 file_count;          /* 140: regular files (inodes) */
	dsfs_le64 directory_count;     /* 148: directories (inodes), including the root */
	dsfs_le64 symlink_count;       /* 150: symbolic links (inodes) */
	dsfs_le64 content_bytes;       /* 158: sum of the sizes of the regular files */
	dsfs_le64 stored_bytes;        /* 160: bytes of chunks that this publish wrote, including padding */
	struct dsfs_extent source; /* 168: the source section; length 0: absent; with members, see first_source */
	uint8_t source_sha256[32]; /* 178: SHA-256 of the source section */
	struct dsfs_extent fine;   /* 198: the block checksum section (struct dsfs_fine); absent like source */
	uint8_t fine_sha256[32];   /* 1a8: SHA-256 of the head of the block checksum section */
	dsfs_le32 first_source;    /* 1c8: with DSFS_INCOMPAT_MEMBERS: the first extent of the source section */
	dsfs_le32 source_extents;  /* 1cc: number of these extents; then source.address is 0 (R77) */
	dsfs_le32 first_fine;      /* 1d0: the first extent of the block checksum section */
	dsfs_le32 fine_extents;    /* 1d4: number of these extents */
	dsfs_le64 places_at;       /* 1d8: with DSFS_VERSION_COMPAT_PLACES: offset of the table of places in the blob */
	dsfs_le64 places_seed;     /* 1e0: with DSFS_VERSION_COMPAT_PLACES: seed of the random order */
	dsfs_le32 first_signature;     /* 1e8: with DSFS_VERSION_COMPAT_SIGNED: where the version's signatures begin */
	dsfs_le32 signature_bytes;     /* 1ec: bytes of them, 1 to DSFS_SIGNATURES_MAX; else both are 0 (R82) */
	uint8_t reserved[16];      /* 1f0: zero */
};

/* The table of members and groups, at the end of the catalogue of a volume with DSFS_INCOMPAT_MEMBERS: this header,
 * then member_count members (struct dsfs_member), group_count groups (struct dsfs_group), column_count columns
 * (dsfs_le64), history_count epochs (struct dsfs_epoch, the newest first). Rules R66 to R79. */
struct dsfs_members {
	dsfs_le32 member_count;  /* 00: as in the superblock */
	dsfs_le32 group_count;   /* 04: groups */
	dsfs_le32 column_count;  /* 08: columns of all groups together */
	dsfs_le32 history_count; /* 0c: catalogues before this one, at most DSFS_HISTORY_MAX */
	dsfs_le64 nonce;         /* 10: random, so that no two catalogues have the same hash; may be 0 */
	uint8_t reserved[40];    /* 18: zero */
};

enum { DSFS_MEMBER_IN_USE = 0, DSFS_MEMBER_STALE = 1 };

/* One member of the volume. Its place in the table is its number. */
struct dsfs_member {
	uint8_t uuid[16];         /* 000: identity of the member, not zero, unique (R67) */
	dsfs_le64 size;           /* 010: bytes that it must have, as in its superblock */
	dsfs_le32 state;          /* 018: DSFS_MEMBER_* */
	dsfs_le32 reserved;       /* 01c: zero */
	dsfs_le64 stale_sequence; /* 020: of a stale member: sequence of its last superblock; else 0 */
	uint8_t stale_sha256[32]; /* 028: of a stale member: SHA-256 of the catalogue in that superblock; else zero */
	uint8_t identity[128];    /* 048: its NVMe namespace, NUL-padded; empty: none */
	uint8_t domain[224];      /* 0c8: its failure domain, NUL-padded; empty: none */
	uint8_t rest[88];         /* 1a8: zero */
};

enum { DSFS_GROUP_COPIES = 1 };

/* A group: one segment, its column, on each of some members. The first columns hold the data; the others replace a
 * column that is lost. Bytes at the same offset in all columns belong together. */
struct dsfs_group {
	dsfs_le64 birth;        /* 00: sequence of the superblock that published it first */
	dsfs_le32 tail;         /* 08: bytes of each column in use, a multiple of DSFS_BLOCK */
	dsfs_le32 first_column; /* 0c: number of its first column */
	uint8_t kind;           /* 10: DSFS_GROUP_*; of copies, each column holds the same bytes */
	uint8_t data;           /* 11: columns with data; of copies: 1 */
	uint8_t redundant;      /* 12: columns that follow them; of copies: 0 to DSFS_COPIES_MAX - 1 */
	uint8_t reserved[13];   /* 13: zero */
};

/* An epoch: a catalogue that was in force. */
struct dsfs_epoch {
	dsfs_le64 sequence; /* 00: of the superblock that named it */
	uint8_t sha256[32]; /* 08: of the catalogue */
};

/* The index section has five parts; each begins at a multiple of DSFS_BLOCK.
 *
 * Index part 1, names: a compact LMDB 0.9 file (64-bit, little-endian, 4 KiB pages) with one database,
 * rules R28 to R44.
 *   key    5 bytes ordinal of the directory, the name          value  struct dsfs_entry
 *   key    5 bytes ordinal of the directory, 00, 4 bytes n     value  the name of entry n * DSFS_MARK_EVERY
 * Integers in keys are big-endian. The entries of a directory are in bytewise order of their names. Ordinals
 * are breadth-first: in key order, each entry has either the next unused ordinal or, for a hard link, one in
 * use already. */
#define DSFS_KEY_PARENT 5u   /* bytes of the ordinal of the directory in a key */
#define DSFS_MARK_EVERY 128u /* entries from one mark to the next; marks n = 1, 2, … */

struct dsfs_entry {
	uint8_t ordinal[5]; /* 00: little-endian */
	uint8_t type;       /* 05: bits 12 to 15 of the mode: 4 directory, 8 regular file, 10 symbolic link */
};

/* Index part 2: the inode with ordinal n lies at (n - 1) * 32. */
#define DSFS_WHERE_SPARSE (UINT64_C(1) << 63) /* the file has holes */
#define DSFS_WHERE_HOLES  (UINT64_C(1) << 62) /* the file has holes, and where is the head of its hole list (R62) */

struct dsfs_inode {
	dsfs_le64 mtime; /* 00: (seconds + 2^31) << 30 | nanoseconds: 1901-12-13 to 2446-05-10 */
	dsfs_le64 size;  /* 08: regular file: bytes; directory: entries; symbolic link: bytes of the target */
	dsfs_le64 where; /* 10: first chunk, with flags; directory: parent; symbolic link: target in the blob */
	dsfs_le32 class; /* 18: number of its attribute class, from 0 */
	dsfs_le32 nlink; /* 1c: names of the inode; directory: 2 + subdirectories */
};

/* Index part 3: a chunk. Chunk i of a file holds its bytes from i << chunk_log on. Rules R51 to R54. */
#define DSFS_STORED_BITS 28u /* bits of stored that hold the number of bytes; the codec is above them */
enum { DSFS_CODEC_RAW = 0, DSFS_CODEC_ZSTD = 1 };

struct dsfs_chunk {
	dsfs_le64 address; /* 00: device address; 0: a hole, all bytes are zero */
	dsfs_le64 sum;     /* 08: XXH3-64 of the content before compression; 0 for a hole */
	dsfs_le32 stored;  /* 10: bits 0 to 27: bytes on the volume; bits 28 to 31: DSFS_CODEC_* */
};

/* A chunk record of a version with DSFS_SUM_SHA256. The sum is the SHA-256 of the content; of content longer than
 * DSFS_SUM_BLOCK, the SHA-256 of the sums of its blocks, one after the other (R81). */
struct dsfs_chunk_sha256 {
	struct dsfs_chunk chunk; /* 00: its sum: the first 8 bytes of the SHA-256 */
	uint8_t rest[24];        /* 14: the other bytes; zero for a hole, and behind the head and the holes of a list */
};

/* A long hole of a large file. Its chunks have no records of their own. Heads and holes lie among the chunk records and
 * are numbered with them: the records of the file's other chunks, then the head of its list, then its holes in the
 * order of the file. Rules R61 to R64; only with DSFS_VERSION_INCOMPAT_HOLES. */
struct dsfs_hole {
	dsfs_le64 address; /* 00: 0, as in the record of any hole */
	dsfs_le64 first;   /* 08: its first chunk, counted in the file; in the head: number of holes, at least 1 */
	dsfs_le32 total;   /* 10: chunks in this hole and in all before it in the list; in the head: 0, ignored */
};

/* Index part 4: attributes that many inodes share. */
struct dsfs_class {
	dsfs_le32 mode;     /* 00: type and permissions, as st_mode of stat(2) */
	dsfs_le32 uid;      /* 04: owner */
	dsfs_le32 gid;      /* 08: group */
	dsfs_le32 reserved; /* 0c: zero */
	dsfs_le64 xattrs;   /* 10: 1 + offset of the xattr set in the blob; 0: none */
};

/* A set of extended attributes in index part 5: this header, then for each attribute a dsfs_xattr, the name
 * and the value, without padding. Names are complete ("user.label"), all begin with "user.", and are in
 * bytewise order; every set belongs to one class, in the order of the classes (R50). */
struct dsfs_xattr_set {
	dsfs_le32 count;  /* 00: number of attributes */
	dsfs_le32 length; /* 04: bytes of the set, including this header, at most DSFS_XATTRS_MAX */
};

struct dsfs_xattr {
	dsfs_le32 name_length;  /* 00: bytes of the name, 6 to DSFS_NAME_MAX, none of them NUL */
	dsfs_le32 value_length; /* 04: bytes of the value; may be 0 */
};

/* The table of places: ordinals of all regular files, file_count dsfs_le32, in an order in which neighbours lie next to
 * each other on a member (R80). It lies in the blob; only with DSFS_VERSION_COMPAT_PLACES. */

/* The block checksum section: sums of blocks of chunks, so that a reader can read and verify a part of a chunk without
 * the rest. It refers to chunks by number and contains no address. Rules R55 to R60.
 *   head    this header; a bitmap, padded to 8 bytes, with bit n % 8 of byte n / 8 set if chunk n has a row;
 *           one dsfs_le64 for each page, the XXH3-64 of its bytes; zeros up to a multiple of DSFS_BLOCK.
 *   pages   DSFS_BLOCK bytes each: rows in the order of their chunks, then zeros. A row has the sums of the
 *           chunk's blocks, of the version's kind, then zeros: with DSFS_SUM_XXH3_64, 2^chunk_log / DSFS_BLOCK
 *           dsfs_le64, of blocks of DSFS_BLOCK; with DSFS_SUM_SHA256, 32 bytes for each DSFS_SUM_BLOCK that
 *           2^chunk_log has, at least one. The sum of the chunk proves that a row is right (R81). */
struct dsfs_fine {
	uint8_t magic[8]; /* 00: DSFS_FINE_MAGIC, without the NUL */
	dsfs_le64 chunk_count; /* 08: bits of the bitmap before padding: chunk_count of the version */
	dsfs_le64 row_count;   /* 10: number of set bits */
	dsfs_le64 reserved;    /* 18: zero */
};

#define DSFS_AT(type, field, offset) \
	_Static_assert(offsetof(struct type, field) == (offset), #type "." #field " moved")
#define DSFS_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type " changed size")

DSFS_AT(dsfs_superblock, catalogue, 0x048);
DSFS_AT(dsfs_superblock, identity, 0x078);
DSFS_AT(dsfs_superblock, member_uuid, 0x0f8);
DSFS_AT(dsfs_superblock, checksum, 0xff8);
DSFS_AT(dsfs_publisher, host, 0x018);
DSFS_AT(dsfs_publisher, checksum, 0xff8);
DSFS_AT(dsfs_replacement, sequence, 0x028);
DSFS_AT(dsfs_replacement, member, 0x050);
DSFS_AT(dsfs_replacement, checksum, 0xff8);
DSFS_AT(dsfs_catalogue, volume_uuid, 0x28);
DSFS_AT(dsfs_version, sequence, 0x0d0);
DSFS_AT(dsfs_version, index_length, 0x108);
DSFS_AT(dsfs_version, source, 0x168);
DSFS_AT(dsfs_version, fine, 0x198);
DSFS_AT(dsfs_version, first_source, 0x1c8);
DSFS_AT(dsfs_version, places_at, 0x1d8);
DSFS_AT(dsfs_member, stale_sha256, 0x028);
DSFS_AT(dsfs_member, domain, 0x0c8);
DSFS_AT(dsfs_group, kind, 0x10);
DSFS_AT(dsfs_inode, class, 0x18);
DSFS_AT(dsfs_chunk, stored, 0x10);
DSFS_AT(dsfs_chunk_sha256, rest, 0x14);
DSFS_AT(dsfs_class, xattrs, 0x10);
DSFS_SIZE(dsfs_extent, 16);
DSFS_SIZE(dsfs_superblock, 4096);
DSFS_SIZE(dsfs_publisher, 4096);
DSFS_SIZE(dsfs_catalogue, 64);
DSFS_SIZE(dsfs_version, 512);
DSFS_SIZE(dsfs_members, 64);
DSFS_SIZE(dsfs_member, 512);
DSFS_SIZE(dsfs_group, 32);
DSFS_SIZE(dsfs_epoch, 40);
DSFS_SIZE(dsfs_entry, 6);
DSFS_SIZE(dsfs_inode, 32);
DSFS_SIZE(dsfs_chunk, 20);
DSFS_SIZE(dsfs_chunk_sha256, 44);
DSFS_SIZE(dsfs_hole, 20);
DSFS_SIZE(dsfs_class, 24);
DSFS_SIZE(dsfs_xattr_set, 8);
DSFS_SIZE(dsfs_xattr, 8);
DSFS_SIZE(dsfs_fine, 32);
