/* SPDX-License-Identifier: MIT */
/* Drops groups as a whole: no part of a group can be free. */
#include "volume/transaction/groups.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

static void groups_mark(const struct members *members, const struct extent *segments, bool *is_used)
{
	uint64_t segment = UINT64_C(1) << members->segment_log;

	for (uint64_t at = 0; at < segments->length; at += segment) {
		const struct member_group *group = members_group(members, segments->address + at);

		if (group)
			is_used[group - members->groups] = true;
	}
}

int groups_drop_unused(struct catalogue *catalogue, struct error *err)
{
	struct members *members = &catalogue->members;
	auto_free bool *is_used = calloc((size_t)members->group_count + 1, sizeof(*is_used));

	if (!is_used)
		return error_no_memory(err);
	for (uint32_t v = 0; v < catalogue->version_count; v++)
		for (uint32_t i = 0; i < catalogue->versions[v].segments.count; i++)
			groups_mark(members, &catalogue->versions[v].segments.items[i], is_used);
	members_keep_groups(members, is_used);
	return 0;
}
