/* SPDX-License-Identifier: MIT */
/* What the versions on a volume use of its members, and what is free. */
#pragma once
#include "pins.h"
#include "volume.h"

struct list_share {
	uint64_t unique, shared; /* bytes in segments of its own, and in those that other versions use too */
	uint64_t mirrored;       /* bytes of both in groups that have copies */
	uint64_t filled, filled_mirrored; /* what is in these groups, and in those of them that have copies */
};

struct list_member {
	uint64_t size, total, used; /* bytes; segments */
	struct superblock super;
	struct pins pins;
};

struct list_space {
	uint64_t size, segment_size; /* bytes */
	uint64_t total, used;        /* segments */
	uint64_t free_bytes;
	bool has_copies;             /* some of the used ones */
	struct list_member *members;
	uint32_t member_count;
	struct list_share *shares;   /* of each version */
};

/* The space is to be freed on failure as well. */
must_check int list_space_measure(const struct volume *volume, struct list_space *space, struct error *err);
void list_space_free(struct list_space *space);
/* Of a member's segments; the last may be cut short by its end. */
uint64_t list_space_bytes(const struct list_space *space, const struct list_member *member, uint64_t from,
			  uint64_t to);
