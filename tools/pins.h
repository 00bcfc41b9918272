/* SPDX-License-Identifier: MIT */
/* Which versions pin which segments of a member, from their lists, in one sweep over it; the cost depends on the
 * lists only. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/catalogue.h"

/* A segment at which somebody's use begins or ends. */
struct pins_event {
	uint64_t segment;
	uint32_t user; /* version, or as many as there are: the catalogue */
};

struct pins {
	uint32_t member;
	uint64_t total; /* segments */
	uint32_t versions;
	struct pins_event *events; /* by segment */
	size_t count, next;
	uint64_t at;       /* where the next run begins */
	uint64_t *active;  /* a bit for each user: of the run that was returned last */
	uint64_t *odd;     /* the same, within pins_cancel() */
	uint32_t users;    /* active versions */
	uint64_t user_sum; /* their numbers, added up: which one it is when there is one */
};

/* Segments that the same versions pin. */
struct pins_run {
	uint64_t from, to;
	uint32_t users; /* versions */
	uint32_t only;  /* which, when it is one */
	bool catalogue; /* lies there, too */
};

/* super: the member's. */
must_check int pins_open(const struct catalogue *catalogue, const struct superblock *super, uint32_t member,
			 uint64_t total, struct pins *ret, struct error *err);
void pins_close(struct pins *pins); /* a zeroed one as well */
void pins_rewind(struct pins *pins);
bool pins_next(struct pins *pins, struct pins_run *ret); /* false at the end */
/* Of the last run: the first version from this one on that pins it; as many as there are: no more. */
uint32_t pins_version(const struct pins *pins, uint32_t from);
