/* SPDX-License-Identifier: MIT */
/* Finds which versions pin which segments of a member, in one sweep over the versions' segment lists. The cost depends
 * on the lists, not on the size of the member. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/catalogue/catalogue.h"

/* A segment at which a user starts or stops using segments. */
struct pins_event {
	uint64_t segment;
	uint32_t user; /* number of the version, or the number of versions for the catalogue */
};

struct pins {
	uint32_t member;
	uint64_t total; /* segments */
	uint32_t versions;
	struct pins_event *events; /* by segment */
	size_t count, next;
	uint64_t at;       /* where the next run begins */
	uint64_t *active;  /* a bit for each user of the run that was returned last */
	uint64_t *odd;     /* scratch of pins_cancel(), also a bit for each user */
	uint32_t users;    /* active versions */
	uint64_t user_sum; /* sum of their numbers: the version's own if there is only one */
};

/* Segments that the same versions pin. */
struct pins_run {
	uint64_t from, to;
	uint32_t users; /* versions */
	uint32_t only;  /* number of the version, if it is the only one */
	bool catalogue; /* the catalogue lies there, too */
};

/* Collects the segments of all versions on the member. super: the member's superblock. */
must_check int pins_open(const struct catalogue *catalogue, const struct superblock *super, uint32_t member,
			 uint64_t total, struct pins *ret, struct error *err);
void pins_close(struct pins *pins); /* accepts a zeroed one */
void pins_rewind(struct pins *pins);
bool pins_next(struct pins *pins, struct pins_run *ret); /* false at the end */
/* Returns the number of the first version, from `from` on, that pins the run returned last; if there is none, the
 * number of versions. */
uint32_t pins_version(const struct pins *pins, uint32_t from);
