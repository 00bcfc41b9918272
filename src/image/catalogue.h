/* SPDX-License-Identifier: MIT */
/* The catalogue: the versions on a volume, which one is current, where free space begins. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "image/members.h"
#include "image/superblock.h"
#include "image/version.h"

struct catalogue {
	uint8_t volume_uuid[16];
	uint64_t next_sequence;
	uint64_t current; /* sequence, 0 for none */
	uint64_t tail;    /* device address, 0 for none */
	struct version *versions; /* ascending sequence */
	uint32_t version_count;
	struct members members; /* count 0 without DSFS_INCOMPAT_MEMBERS */
};

void catalogue_free(struct catalogue *catalogue); /* its contents, not the struct */
/* Allocates *ret_bytes (free() it), a multiple of DSFS_BLOCK padded with zeros. */
must_check int catalogue_encode(const struct catalogue *catalogue, uint8_t **ret_bytes, uint64_t *ret_length,
				struct error *err);
/* Checks every record against the volume: segment size and the sizes of its members. */
must_check int catalogue_decode(const uint8_t *bytes, uint64_t length, const struct superblock *super,
				struct catalogue *ret, struct error *err);

/* Superblock, then the catalogue it names, verified. Reads the superblock again when the catalogue does not
 * match, as a publisher may have moved on in between. Of several members, the newest superblock counts (its first one's
 * is returned); -ENOLINK, with their names, when members are missing or stale, -EBADMSG when one went ways of its
 * own. */
must_check int catalogue_load(struct source *source, struct superblock *ret_super, struct catalogue *ret,
			      struct error *err);

/* The same of rings, SUPERBLOCK_RINGS of them: those that were read are believed first, the others are read into
 * them. */
must_check int catalogue_load_rings(struct source *source, struct superblock_ring *rings, struct superblock *ret_super,
				    struct catalogue *ret, struct error *err);

/* For who has the volume open and has seen superblock seen: a newer one counts when as many members show it as every
 * group can lose and one more, or all that are there. Otherwise the one before it, which a crash could bring back. */
must_check int catalogue_load_shown(struct source *source, uint64_t seen, struct superblock *ret_super,
				    struct catalogue *ret, struct error *err);
/* The newest superblock of any member, whether its catalogue counts or not: what has changed when it has. */
must_check int catalogue_load_newest(struct source *source, struct superblock *ret, struct error *err);

/* The one that this superblock names, whatever else the volume has. */
must_check int catalogue_load_by(struct source *source, const struct superblock *super, struct catalogue *ret,
				 struct error *err);

/* For who is going to change the volume: -EOPNOTSUPP when the superblock or a version has a feature, of whichever
 * word, that this release does not know. Whatever came with it would be written as zeros. */
must_check int catalogue_check_writable(const struct superblock *super, const struct catalogue *catalogue,
					struct error *err);

/* NULL when there is none. */
struct version *catalogue_current(const struct catalogue *catalogue);
struct version *catalogue_by_label(const struct catalogue *catalogue, const char *label);
/* -ENOENT: there is none of this label, and which there are. */
must_check int catalogue_refuse(const struct catalogue *catalogue, const char *label, struct error *err);
struct version *catalogue_by_sequence(const struct catalogue *catalogue, uint64_t sequence);
/* Compaction keeps the UUID, with another sequence; nothing else gives one twice. */
struct version *catalogue_by_uuid(const struct catalogue *catalogue, const uint8_t *uuid);
/* Whether this very version is there, where it was: one that was undone leaves its sequence to another. */
bool catalogue_holds(const struct catalogue *catalogue, uint64_t sequence, const uint8_t *uuid);
/* A copy with its own lists appended at the end; takes version's lists on success and empties them. */
must_check int catalogue_append(struct catalogue *catalogue, struct version *version, struct error *err);

/* Takes the version out; the pointers to others change. */
void catalogue_remove(struct catalogue *catalogue, struct version *version);
