/* SPDX-License-Identifier: MIT */
/* The catalogue: the versions on a volume, which one is current, where free space begins. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "image/catalogue/version.h"
#include "image/members/members.h"
#include "image/members/superblock.h"

struct catalogue {
	uint8_t volume_uuid[16];
	uint64_t next_sequence;
	uint64_t current; /* sequence, 0: none */
	uint64_t tail;    /* device address, 0: none */
	struct version *versions; /* by ascending sequence */
	uint32_t version_count;
	struct members members; /* count 0 without DSFS_INCOMPAT_MEMBERS */
};

void catalogue_free(struct catalogue *catalogue); /* frees its contents, not the struct */
/* Encodes into *ret_bytes (free() it), a multiple of DSFS_BLOCK padded with zeros. */
must_check int catalogue_encode(const struct catalogue *catalogue, uint8_t **ret_bytes, uint64_t *ret_length,
				struct error *err);
/* Decodes a catalogue, and checks every record against the volume: segment size and the sizes of its members. */
must_check int catalogue_decode(const uint8_t *bytes, uint64_t length, const struct superblock *super,
				struct catalogue *ret, struct error *err);

/* Loads the superblock and the catalogue that it names, verified. Reads the superblock again if the catalogue does not
 * match, as a publisher may have moved on in between. With several members the newest superblock counts, and *ret_super
 * is the copy of the first member that has it. -ENOLINK, with their names: members are missing or stale; -EBADMSG: a
 * member is of another branch. rings: SUPERBLOCK_RINGS rings, of which those that were read already are used, unless a
 * publisher has moved on; NULL: it reads all. */
must_check int catalogue_load(struct source *source, struct superblock_ring *rings, struct superblock *ret_super,
			      struct catalogue *ret, struct error *err);

/* Loads for a caller that has already seen the superblock with sequence seen. A newer one counts only if all members
 * that are there have it, or more members than every group can lose; otherwise loads the one before it, which a crash
 * could bring back. */
must_check int catalogue_load_shown(struct source *source, struct superblock_ring *rings, uint64_t seen,
				    struct superblock *ret_super, struct catalogue *ret, struct error *err);
/* Finds the newest superblock of any member, whether its catalogue counts or not. As long as it stays the same, the
 * volume has not changed. */
must_check int catalogue_load_newest(struct source *source, struct superblock *ret, struct error *err);

/* Loads the catalogue that this superblock names, whether it is in force or not. */
must_check int catalogue_load_by(struct source *source, const struct superblock *super, struct catalogue *ret,
				 struct error *err);

/* Must be called before the volume is changed. -EOPNOTSUPP: the superblock or a version has a compat or incompat
 * feature that this release does not know, and whose fields it would overwrite with zeros. */
must_check int catalogue_check_writable(const struct superblock *super, const struct catalogue *catalogue,
					struct error *err);

/* The functions below find a version; NULL: there is none. */
struct version *catalogue_current(const struct catalogue *catalogue);
struct version *catalogue_by_label(const struct catalogue *catalogue, const char *label);
/* Returns -ENOENT; the reason says that no version has this label, and which labels there are. */
must_check int catalogue_refuse(const struct catalogue *catalogue, const char *label, struct error *err);
/* Finds the version that has the digest: of several the current one, else the newest. */
struct version *catalogue_by_digest(const struct catalogue *catalogue, const uint8_t digest[32]);
/* Finds a version as users name it: by its label, or by "sha256:" and the first digits of its digest, 16 at least, if
 * no other digest begins so. Proves nothing. */
must_check int catalogue_select(const struct catalogue *catalogue, const char *name, const struct version **ret,
				struct error *err);
/* Finds the version that has the digest. -ENOENT: none has; volume is its name in the reason. */
must_check int catalogue_select_digest(const struct catalogue *catalogue, const uint8_t digest[32],
				       const char *volume, const struct version **ret, struct error *err);
/* Returns -EBADMSG; the reason says which digest the version has, and which version of the catalogue has the expected
 * one. catalogue may be NULL. */
must_check int catalogue_refuse_digest(const struct catalogue *catalogue, const char *label, const uint8_t found[32],
				       const uint8_t expected[32], struct error *err);
struct version *catalogue_by_sequence(const struct catalogue *catalogue, uint64_t sequence);
/* Finds a version by its UUID. Compaction keeps the UUID under another sequence; otherwise UUIDs are unique. */
struct version *catalogue_by_uuid(const struct catalogue *catalogue, const uint8_t *uuid);
/* True if the version with this sequence still has this UUID. After a publish was undone, another version may get its
 * sequence. */
bool catalogue_holds(const struct catalogue *catalogue, uint64_t sequence, const uint8_t *uuid);
/* Appends a copy of version. On success the copy owns version's lists, which are empty there afterwards. */
must_check int catalogue_append(struct catalogue *catalogue, struct version *version, struct error *err);

/* Removes and frees the version; pointers to the others change. */
void catalogue_remove(struct catalogue *catalogue, struct version *version);
