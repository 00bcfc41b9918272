/* SPDX-License-Identifier: MIT */
/* Counts the versions that visitors hold open, and remembers failures in a ring. */
#include "serve/opening/visitor.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define VISITOR_SPARE 8u /* an eighth of all memory stays free when a visitor opens a version */
#define VISITOR_MORE  4u /* a quarter, if the visitor has one open already */

struct visitor_count {
	unsigned own, all;
};

static struct visitor_count visitor_count(const struct visitor *visitor, struct generations *generations)
{
	struct visitor_count count = { 0 };
	const struct generation *generation;

	pthread_mutex_lock(&generations->lock);
	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&generations->slots[i]);
		if (!generation || !generation->has_visitor || generation == generations_current(generations))
			continue;
		count.all++;
		count.own += generation->visitor == visitor->uid;
	}
	pthread_mutex_unlock(&generations->lock);
	return count;
}

static const struct visitor_failure *visitor_find(const struct visitor_failures *failures,
						  const struct version *version, int64_t now)
{
	const struct visitor_failure *failure;

	for (unsigned i = 0; i < VISITOR_FAILURES; i++) {
		failure = &failures->ring[i];
		if (failure->until > now && failure->sequence == version->sequence &&
		    !memcmp(failure->uuid, version->uuid, sizeof(failure->uuid)))
			return failure;
	}
	return NULL;
}

int visitor_check(const struct visitor *visitor, struct generations *generations, const struct version *version,
		  int64_t now, unsigned *ret_spare, struct error *err)
{
	const struct visitor_failure *failure = visitor_find(visitor->failures, version, now);
	struct visitor_count count = visitor_count(visitor, generations);

	if (failure)
		return error_pass(err, failure->why.code, &failure->why);
	if (!visitor->may_switch && count.own >= VISITOR_OPEN)
		return error_set(err, -EDQUOT, "user %" PRIu32 " holds %u versions open, the limit is %u", visitor->uid,
				 count.own, VISITOR_OPEN);
	if (!visitor->may_switch && count.all >= VISITORS_OPEN)
		return error_set(err, -ENFILE, "visitors hold %u versions open, the limit is %u", count.all,
				 VISITORS_OPEN);
	*ret_spare = !visitor->may_switch && count.own ? VISITOR_MORE : VISITOR_SPARE;
	return 0;
}

void visitor_remember(const struct visitor *visitor, const struct version *version, int64_t now,
		      const struct error *why)
{
	struct visitor_failures *failures = visitor->failures;
	struct visitor_failure *failure = &failures->ring[failures->next++ % VISITOR_FAILURES];

	*failure = (struct visitor_failure){ .sequence = version->sequence, .until = now + VISITOR_PERIOD,
					     .why = *why };
	memcpy(failure->uuid, version->uuid, sizeof(failure->uuid));
}
