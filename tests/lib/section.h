/* SPDX-License-Identifier: MIT */
/* Builds a small index section, right or wrong, in a memfd: what the packer does at scale. */
#pragma once
#include <stdint.h>

#include "image/catalogue/catalogue.h"
#include "image/chunk.h"
#include "image/inode.h"

#define SECTION_MAX 1024u

struct section_entry {
	uint64_t directory;
	char name[DSFS_NAME_MAX + 1];
	size_t length;
	uint64_t ordinal;
	uint8_t type;
};

struct section {
	struct inode inodes[SECTION_MAX]; /* ordinal n at n - 1 */
	uint32_t classes[SECTION_MAX];    /* of that inode */
	struct dsfs_class class_table[SECTION_MAX];
	uint8_t chunks[SECTION_MAX * sizeof(struct dsfs_chunk_sha256)]; /* records, one behind the other */
	struct section_entry entries[SECTION_MAX];
	uint8_t blob[65536];
	uint64_t inode_count, class_count, chunk_count, entry_count, blob_length;
	uint64_t places_at, places_count;
	uint32_t chunk_log;
	uint32_t sums; /* DSFS_SUM_* */
};

/* Two members without copies; each has a group with the segment that begins at SECTION_ON(member). */
#define SECTION_ON(MEMBER) ((uint64_t)(MEMBER) << DSFS_ADDRESS_BITS | 1u << DSFS_SEGMENT_LOG_MIN)
extern const struct members section_two;

extern uint32_t section_sums; /* DSFS_SUM_* of sections that begin now */
void section_init(struct section *section); /* a root directory and nothing else */
/* Adds entries in key order; returns the ordinal. */
uint64_t section_directory(struct section *section, uint64_t parent, const char *name);
uint64_t section_file(struct section *section, uint64_t parent, const char *name, uint64_t size,
		      uint64_t first_chunk);
uint64_t section_symlink(struct section *section, uint64_t parent, const char *name, const char *target);
void section_hard_link(struct section *section, uint64_t parent, const char *name, uint64_t ordinal);
/* A set of empty attributes, all of this name. */
void section_xattr(struct section *section, uint64_t ordinal, const char *name, uint32_t times);
uint64_t section_chunk(struct section *section, uint64_t address, uint64_t sum, uint32_t stored, uint8_t codec);
/* The same with a whole sum, of the section's kind. */
uint64_t section_chunk_with(struct section *section, uint64_t address, struct sum sum, uint32_t stored, uint8_t codec);
struct dsfs_chunk *section_record(struct section *section, uint64_t number);
/* Adds an element to the table of places. What goes into the blob must come before or after all of them. */
void section_place(struct section *section, uint64_t ordinal);
/* Writes the section to a new memfd and describes it in version (shape, chunk_log, index.length). */
int section_write(struct section *section, struct version *version);
