/* SPDX-License-Identifier: MIT */
/* Measures how much of its members the versions on a volume use, and how much is free. */
#pragma once
#include "list/pins.h"
#include "volume.h"

struct list_share {
	uint64_t unique, shared; /* bytes of segments that only this version uses, and that others use too */
	uint64_t own;            /* bytes of blocks that only this version uses, if has_own */
	uint64_t mirrored;       /* bytes of both that lie in groups with copies */
	uint64_t filled, filled_mirrored; /* bytes written in its groups, and in those of its groups that have copies */
};

struct list_member {
	uint64_t size, total, used; /* bytes; segments */
	struct superblock super;
	struct pins pins;
};

struct list_space {
	uint64_t size, segment_size; /* bytes */
	uint64_t total, used;        /* segments */
	uint64_t free_bytes, grown; /* grown: by which devices are larger than the volume on them */
	bool has_copies;             /* some used segments are copies */
	bool has_own;                /* own_measure() was called */
	struct list_member *members;
	uint32_t member_count;
	struct list_share *shares;   /* one for each version */
};

/* Measures the volume. The caller frees the space after a failure as well. */
must_check int list_space_measure(const struct volume *volume, struct list_space *space, struct error *err);
void list_space_free(struct list_space *space);
/* Returns the bytes of a member's segments from..to; the end of the member may cut the last one short. */
uint64_t list_space_bytes(const struct list_space *space, const struct list_member *member, uint64_t from,
			  uint64_t to);
