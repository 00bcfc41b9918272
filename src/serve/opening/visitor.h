/* SPDX-License-Identifier: MIT */
/* The shares of users who visit .datasetfs/versions, and the versions that failed to open recently. Visits thread
 * only. */
#pragma once
#include "serve/version/generations.h"

#define VISITOR_OPEN      128u /* limit of versions that one user's visits hold open */
#define VISITORS_OPEN     192u /* limit for all users; users who may switch have the rest of GENERATIONS_MAX */
#define VISITOR_FAILURES  64u  /* failed versions that are remembered */
#define VISITOR_PERIOD    INT64_C(10000000000) /* how long a failure is remembered, ns */

struct visitor_failure {
	uint8_t uuid[16];
	uint64_t sequence;
	int64_t until; /* when the failure is forgotten, ns, monotonic; 0: the entry is empty */
	struct error why;
};

/* The failures of all visitors. Without them any user could repeat a costly load that fails. */
struct visitor_failures {
	struct visitor_failure ring[VISITOR_FAILURES];
	unsigned next;
};

struct visitor {
	uint32_t uid;
	bool may_switch; /* the user may switch the mount, and has no limit */
	struct visitor_failures *failures;
};

/* Checks whether a version may be loaded for the visitor. Fails with the remembered error if it failed recently, with
 * -EDQUOT if the visitor has too many versions open, with -ENFILE if all visitors together have. *ret_spare: for
 * headroom_check(); a visitor who has a version open must leave more memory free. */
must_check int visitor_check(const struct visitor *visitor, struct generations *generations,
			     const struct version *version, int64_t now, unsigned *ret_spare, struct error *err);
/* Remembers that a version could not be loaded, and why. */
void visitor_remember(const struct visitor *visitor, const struct version *version, int64_t now,
		      const struct error *why);
