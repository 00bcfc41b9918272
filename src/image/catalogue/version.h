/* SPDX-License-Identifier: MIT */
/* A version's record in the catalogue: its label, where its parts lie, how much it holds. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "datasetfs/format.h"
#include "image/index.h"
#include "image/members/extent_list.h"
#include "image/members/superblock.h"

/* A part of a version on the volume. All but the index may be absent. */
struct version_section {
	struct extent_list extents; /* the section's bytes, in order */
	uint64_t length;            /* total bytes; 0: absent */
	uint8_t sha256[32];         /* of block checksums: of their head */
};

struct version {
	char label[DSFS_LABEL_MAX + 1];
	uint8_t uuid[16];
	uint8_t digest[32];
	uint64_t sequence;
	uint64_t created;
	uint64_t feature_compat, feature_incompat; /* DSFS_VERSION_COMPAT_* and so on; also unknown bits */
	uint32_t chunk_log;
	struct extent_list segments; /* whole segments, as byte runs */
	struct index_shape shape;
	uint64_t file_count, directory_count, symlink_count;
	uint64_t content_bytes, stored_bytes;
	uint64_t places_seed; /* of the random order, if the shape has places */
	struct version_section index, source, block_sums;
	char *signatures; /* a text, see trust/signatures.h; NULL: there are none; unchecked */
	uint32_t signature_bytes;
};

must_check int version_check_label(const char *label, struct error *err);
void version_free(struct version *version); /* frees its contents, not the struct */
/* Empties the version's lists and signatures without freeing them, because they belong to another copy of it. */
void version_disown_lists(struct version *version);
/* Gives a copy of a version lists and signatures of its own. The caller frees the copies, on failure as well. */
must_check int version_copy_lists(const struct version *from, struct version *to, struct error *err);
/* Gives the version a copy of another one's signatures. */
must_check int version_copy_signatures(const struct version *from, struct version *to, struct error *err);

/* Counts the extents that the version needs in the catalogue's table of extents. has_members: the volume has
 * DSFS_INCOMPAT_MEMBERS, so all sections of a version are lists of extents. */
uint64_t version_extent_count(const struct version *version, bool has_members);
/* Encodes the record. first_extent: number of the version's first extent in the catalogue's table of extents;
 * first_signature: where its signatures begin in the catalogue's text. */
void version_encode(const struct version *version, uint32_t first_extent, uint32_t first_signature, bool has_members,
		    struct dsfs_version *disk);
/* Writes the version's extents to the catalogue's table of extents at disk, and returns where they end. */
struct dsfs_extent *version_encode_extents(const struct version *version, bool has_members, struct dsfs_extent *disk);

/* Whether both records are equal, except for the versions' places and signatures. */
bool version_is_same(const struct version *a, const struct version *b);

/* The state of decoding a catalogue's records one after the other. */
struct version_decoder {
	const struct superblock *super;
	const struct members *members; /* count 0: none */
	const uint32_t *runs;          /* members_runs() of members */
	const struct dsfs_extent *extents; /* the whole table */
	uint32_t extent_count, extents_used;
	struct span signatures; /* the text of all versions' signatures that are left, and zeros behind it */
	uint32_t signatures_used;
};

/* Decodes a record and checks every field against the volume. The caller zeroes *ret before and frees it after, on
 * failure as well. */
must_check int version_decode(struct version_decoder *d, const struct dsfs_version *disk, struct version *ret,
			      struct error *err);
