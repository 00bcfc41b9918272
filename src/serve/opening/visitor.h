/* SPDX-License-Identifier: MIT */
/* A user who visits .datasetfs/versions: how much the user may take from others, and which versions failed to open
 * recently. For the thread of visits only. */
#pragma once
#include "serve/version/generations.h"

#define VISITOR_OPEN      128u /* versions that one user's visits may hold open */
#define VISITORS_OPEN     192u /* and those of all; the rest of GENERATIONS_MAX is kept for who may switch */
#define VISITOR_FAILURES  64u  /* versions that are remembered */
#define VISITOR_PERIOD    INT64_C(10000000000) /* ns that one is remembered */

struct visitor_failure {
	uint8_t uuid[16];
	uint64_t sequence;
	int64_t until; /* ns, monotonic; 0: none */
	struct error why;
};

/* Loading costs as much when it fails in the end, and anybody may ask again. */
struct visitor_failures {
	struct visitor_failure ring[VISITOR_FAILURES];
	unsigned next;
};

struct visitor {
	uint32_t uid;
	bool may_switch; /* is counted with nobody */
	struct visitor_failures *failures;
};

/* Before a version is loaded for him. 0 or an error: it failed just now, -EDQUOT his versions or -ENFILE those of all
 * visitors are too many. *ret_spare: which part of memory is to stay free, see headroom_check(): who has a version
 * open leaves others more than they have to leave. */
must_check int visitor_check(const struct visitor *visitor, struct generations *generations,
			     const struct version *version, int64_t now, unsigned *ret_spare, struct error *err);
/* It could not be loaded. */
void visitor_remember(const struct visitor *visitor, const struct version *version, int64_t now,
		      const struct error *why);
