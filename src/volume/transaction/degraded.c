/* SPDX-License-Identifier: MIT */
/* Counts the members that are there, and skips sequence numbers. */
#include "volume/transaction/degraded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "device/nvme/topology.h"

#define DEGRADED_BLOCK ((uint64_t)DSFS_VERSIONS_MAX) /* sequences in a block: as many as one change can use */

int degraded_parse(const char *argument, enum degraded *ret, struct error *err)
{
	if (argument && strcmp(argument, "half") != 0)
		return error_set(err, -EINVAL, "'%s' is not half", argument);
	*ret = argument ? DEGRADED_HALF : DEGRADED_MOST;
	return 0;
}

/* --- permission --- */

static uint32_t degraded_count(const struct members *members, const bool *is_missing, uint32_t *ret_first)
{
	uint32_t missing = 0;

	for (uint32_t i = members->count; i-- > 0;) {
		missing += is_missing[i];
		if (is_missing[i])
			*ret_first = i;
	}
	return missing;
}

static int degraded_refuse(const struct members *members, uint32_t number, struct error *err)
{
	const struct member *member = &members->list[number];
	char what[64] = "missing";

	if (member->missing_from > 1)
		snprintf(what, sizeof(what), "stale since superblock %" PRIu64, member->missing_from - 1);
	return error_set(err, -ENOLINK,
			 "member %" PRIu32 " is %s: a volume is changed only when all its members are there; "
			 "'datasetfsctl member replace' brings it back or puts another in its place, --degraded goes "
			 "on without it", number, what);
}

int degraded_check(const struct members *members, const bool *is_missing, enum degraded degraded, struct error *err)
{
	uint32_t first = 0, missing = degraded_count(members, is_missing, &first);
	bool is_half = missing * 2 == members->count;

	if (!missing || (degraded && missing * 2 < members->count) || (degraded >= DEGRADED_HALF && is_half))
		return 0;
	if (!degraded)
		return degraded_refuse(members, first, err);
	return error_set(err, -ENOLINK, "%" PRIu32 " of %" PRIu32 " members are missing%s", missing, members->count,
			 is_half ? ", which is half: --degraded=half if the other half is not changed" :
				   ": a change needs more than half of them there");
}

bool degraded_is_new(const struct members *members, const bool *is_missing, uint32_t number)
{
	return is_missing[number] && members->list[number].state != DSFS_MEMBER_STALE;
}

/* Returns the subsystem of a namespace that this machine tries to reach and has no live path to; else NULL. */
static const struct topology_subsystem *degraded_reconnects(const struct topology *topology, const char *identity)
{
	const struct topology_subsystem *found = NULL;
	char name[TOPOLOGY_IDENTITY_SIZE];
	size_t live;

	for (size_t i = 0; identity[0] && i < topology->namespace_count; i++) {
		topology_identity(&topology->namespaces[i], name);
		if (strcmp(name, identity) != 0 || topology_paths_of(topology, &topology->namespaces[i], &live) == 0)
			continue;
		if (live)
			return NULL;
		found = &topology->subsystems[topology->namespaces[i].subsystem];
	}
	return found;
}

int degraded_check_paths(const struct members *members, const bool *is_missing, struct error *err)
{
	auto_topology struct topology topology = { 0 };
	int r = topology_read(topology_root(), &topology, err);

	for (uint32_t i = 0; r == 0 && i < members->count; i++) {
		const char *identity = members->list[i].identity;
		const struct topology_subsystem *subsystem = degraded_reconnects(&topology, identity);

		if (subsystem && degraded_is_new(members, is_missing, i))
			r = error_set(err, -EBUSY,
				      "member %" PRIu32 " (%s) is reconnecting, and would be stale when it is back: "
				      "wait for it, or give it up with 'datasetfsctl nvme disconnect %s'",
				      i, identity, subsystem->nqn);
	}
	return r;
}

/* --- the catalogue --- */

/* Whether this half may use a block of sequences: even ones are for the half with member 0, odd for the other. */
static bool degraded_is_own(bool has_first, uint64_t block)
{
	return (block & 1) != has_first;
}

/* Returns our next block's first sequence, past any that an unfinished change used on a missing member. */
static uint64_t degraded_next(bool has_first, uint64_t next)
{
	uint64_t block = (next + 2 * DEGRADED_BLOCK - 1) / DEGRADED_BLOCK;

	next = (block + !degraded_is_own(has_first, block)) * DEGRADED_BLOCK;
	return next > DSFS_SEQUENCE_MAX ? DSFS_SEQUENCE_MAX + 1 : next; /* none is left, but the catalogue stays
									 * readable */
}

/* Whether our block has room for one change: a sequence for a new version, or for each existing one. */
static bool degraded_has_room(const struct catalogue *catalogue, bool has_first)
{
	uint64_t next = catalogue->next_sequence;

	return degraded_is_own(has_first, next / DEGRADED_BLOCK) &&
	       DEGRADED_BLOCK - next % DEGRADED_BLOCK > catalogue->version_count;
}

/* Marks a member as missing; returns whether it becomes stale by that. */
static bool degraded_mark(struct member *member, const struct superblock *newest)
{
	member->missing_from = 1;
	if (member->state == DSFS_MEMBER_STALE)
		return false;
	member->state = DSFS_MEMBER_STALE;
	member->stale_sequence = newest->sequence;
	memcpy(member->stale_sha256, newest->catalogue_sha256, sizeof(member->stale_sha256));
	return true;
}

void degraded_enter(struct catalogue *catalogue, const bool *is_missing, const struct superblock *newest)
{
	bool is_new = false, is_any = false;

	for (uint32_t i = 0; i < catalogue->members.count; i++) {
		is_any |= is_missing[i];
		if (is_missing[i])
			is_new |= degraded_mark(&catalogue->members.list[i], newest);
	}
	if (is_any && (is_new || !degraded_has_room(catalogue, !is_missing[0])))
		catalogue->next_sequence = degraded_next(!is_missing[0], catalogue->next_sequence);
}
