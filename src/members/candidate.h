/* SPDX-License-Identifier: MIT */
/* A file or device that may be a member of a volume: what it says about itself and about the other members. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "device/topology.h"
#include "image/members.h"
#include "image/superblock.h"
#include "io/file.h"
#include "io/knock.h"

struct candidate {
	char *name; /* as it was given or found */
	struct file_source *file;
	struct stat st;
	char identity[TOPOLOGY_IDENTITY_SIZE]; /* of its namespace; "": it is no namespace, or has no identity */
	struct knock *knock; /* until it is read */
	bool is_silent;      /* it did not answer in time */
	struct superblock_ring ring;
	struct superblock super;               /* sequence 0: it has none, see unreadable */
	struct error unreadable;
	struct members table; /* from the catalogue of its superblock; count 0: there is none, see damaged */
	struct error damaged;
	bool is_named; /* by the user */
	bool counts;   /* it is a member, as far as is known */
};

/* Opens it for reading, finds its identity unless topology is NULL, and asks whether it answers. patience: of reads of
 * it, now and later (io/file.h). */
must_check int candidate_open(const char *name, const struct topology *topology, int64_t patience,
			      struct candidate *ret, struct error *err);
/* Reads its superblock, once it answers. -EINTR: a signal came first. Else fails only for lack of means. */
must_check int candidate_read(struct candidate *candidate, struct error *err);
void candidate_close(struct candidate *candidate); /* what was not taken */
/* Reads its table. */
void candidate_look(struct candidate *candidate);
bool candidate_has_members(const struct candidate *candidate);
/* Whether both are the same file or device. */
bool candidate_is(const struct candidate *candidate, const struct stat *st);
/* Its number in the table; UINT32_MAX: it is not in it. */
uint32_t candidate_slot(const struct candidate *candidate, const struct members *table);
/* Whether the other one's table lists it, on this very namespace. */
bool candidate_is_known_to(const struct candidate *candidate, const struct candidate *other);
