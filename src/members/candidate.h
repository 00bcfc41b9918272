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

struct candidate {
	char *name; /* as it was given or found */
	struct file_source *file;
	struct stat st;
	char identity[TOPOLOGY_IDENTITY_SIZE]; /* of its namespace; "": it is no namespace, or has no identity */
	struct superblock super;               /* sequence 0: it has none, see unreadable */
	struct error unreadable;
	struct members table; /* from the catalogue of its superblock; count 0: there is none, see damaged */
	struct error damaged;
	bool is_named; /* by the user */
	bool counts;   /* it is a member, as far as is known */
};

/* Opens it for reading and reads its superblock, and its identity unless topology is NULL. is_bounded: reads of it fail
 * instead of hanging, now and later (io/file.h). */
must_check int candidate_open(const char *name, const struct topology *topology, bool is_bounded,
			      struct candidate *ret, struct error *err);
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
