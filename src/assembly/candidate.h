/* SPDX-License-Identifier: MIT */
/* Owns a candidate: a file or device that may be a member, with its claims about itself and the other members. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "device/nvme/topology.h"
#include "image/members/members.h"
#include "image/members/superblock.h"
#include "io/file.h"
#include "io/read_probe.h"

struct candidate {
	char *name; /* path or identity, as it was given or found */
	struct file_source *file;
	struct stat st;
	char identity[TOPOLOGY_IDENTITY_SIZE]; /* of its namespace; "": it is on none, or on one without an identity */
	struct read_probe *probe; /* asks whether it answers; until candidate_read() */
	bool is_silent;      /* it did not answer in time */
	struct superblock_ring ring;
	struct superblock super;               /* sequence 0: it has none, see unreadable */
	struct error unreadable;
	struct members table; /* from the catalogue of its superblock; count 0: there is none, see damaged */
	struct error damaged;
	bool is_named; /* named by the user */
	bool counts;   /* it is a member, as far as is known */
};

/* Opens a candidate for reading, finds its identity unless topology is NULL, and asks whether it answers. patience:
 * time limit of its reads, now and later (io/file.h). */
must_check int candidate_open(const char *name, const struct topology *topology, int64_t patience,
			      struct candidate *ret, struct error *err);
/* Waits for an answer and reads the superblock. -EINTR: a signal came. Other failures are lack of resources: is_silent
 * and unreadable tell what is wrong with the candidate. */
must_check int candidate_read(struct candidate *candidate, struct error *err);
void candidate_close(struct candidate *candidate); /* closes the parts that were not taken */
/* Reads the candidate's table of members from its catalogue. */
void candidate_look(struct candidate *candidate);
bool candidate_has_members(const struct candidate *candidate);
/* Returns the candidate's number in the table; UINT32_MAX: the table does not list it. */
uint32_t candidate_slot(const struct candidate *candidate, const struct members *table);
/* Returns whether the other candidate's table lists this one on its present namespace. */
bool candidate_is_known_to(const struct candidate *candidate, const struct candidate *other);
