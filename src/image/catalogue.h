/* SPDX-License-Identifier: MIT */
/* The catalogue: the versions on a volume, which one is current, where free space begins. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "image/superblock.h"

struct extent {
	uint64_t address; /* device address */
	uint64_t length;  /* bytes */
};

struct extent_list {
	struct extent *items;
	uint32_t count;
};

/* At the end of a list that only this function made; what follows the last one directly is joined with it. */
must_check int extent_list_add(struct extent_list *list, uint64_t address, uint64_t length, struct error *err);

/* Sizes of an index's parts, in the order they lie. */
struct index_shape {
	uint64_t names_length;
	uint64_t inode_count, chunk_count, class_count, blob_length;
	uint64_t entry_count;
};

struct index_layout {
	uint64_t names, inodes, chunks, classes, blob; /* offsets in the section */
	uint64_t length;                               /* of the section */
};

struct version {
	char label[DSFS_LABEL_MAX + 1];
	uint8_t uuid[16];
	uint8_t digest[32];
	uint8_t index_sha256[32];
	uint64_t sequence;
	uint64_t created;
	uint64_t feature_compat, feature_incompat; /* DSFS_VERSION_COMPAT_*, DSFS_VERSION_INCOMPAT_*; also unknown ones */
	uint32_t chunk_log, chunk_sum;
	struct extent_list segments; /* whole segments, as byte runs */
	struct extent_list index;    /* where the section lies, in order */
	uint64_t index_length;
	struct index_shape shape;
	uint64_t file_count, directory_count, symlink_count;
	uint64_t content_bytes, stored_bytes;
	struct extent source, fine; /* length 0 when absent */
	uint8_t source_sha256[32], fine_sha256[32];
};

struct catalogue {
	uint8_t volume_uuid[16];
	uint64_t next_sequence;
	uint64_t current; /* sequence, 0 for none */
	uint64_t tail;    /* device address, 0 for none */
	struct version *versions; /* ascending sequence */
	uint32_t version_count;
};

void catalogue_free(struct catalogue *catalogue); /* its contents, not the struct */
/* Allocates *ret_bytes (free() it), a multiple of DSFS_BLOCK padded with zeros. */
must_check int catalogue_encode(const struct catalogue *catalogue, uint8_t **ret_bytes, uint64_t *ret_length,
				struct error *err);
/* Checks every record against the volume: segment size and the sizes of its members. */
must_check int catalogue_decode(const uint8_t *bytes, uint64_t length, const struct superblock *super,
				struct catalogue *ret, struct error *err);

/* Superblock, then the catalogue it names, verified. Reads the superblock again when the catalogue does not
 * match, as a publisher may have moved on in between. */
must_check int catalogue_load(struct source *source, struct superblock *ret_super, struct catalogue *ret,
			      struct error *err);

/* For who is going to change the volume: -EOPNOTSUPP when the superblock or a version has a feature, of whichever word, that
 * this release does not know. Whatever came with it would be written as zeros. */
must_check int catalogue_check_writable(const struct superblock *super, const struct catalogue *catalogue,
					struct error *err);

/* NULL when there is none. */
struct version *catalogue_current(const struct catalogue *catalogue);
struct version *catalogue_by_label(const struct catalogue *catalogue, const char *label);
struct version *catalogue_by_sequence(const struct catalogue *catalogue, uint64_t sequence);
/* Compaction keeps the UUID, with another sequence; nothing else gives one twice. */
struct version *catalogue_by_uuid(const struct catalogue *catalogue, const uint8_t *uuid);
/* Whether this very version is there, where it was: one that was undone leaves its sequence to another. */
bool catalogue_holds(const struct catalogue *catalogue, uint64_t sequence, const uint8_t *uuid);
/* A copy with its own lists appended at the end; takes version's lists on success and empties them. */
must_check int catalogue_append(struct catalogue *catalogue, struct version *version, struct error *err);

/* Takes the version out; the pointers to others change. */
void catalogue_remove(struct catalogue *catalogue, struct version *version);

must_check int label_check(const char *label, struct error *err);
/* Every part's place from its size. -EBADMSG when sizes do not fit in 2^62 bytes. */
must_check int index_layout(const struct index_shape *shape, struct index_layout *ret, struct error *err);
