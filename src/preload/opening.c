/* SPDX-License-Identifier: MIT */
/* Implements lib/api/opening.h for unchanged programs: a mount is read past it, or by the program itself. No volume is
 * opened by its name, so this library needs nothing that asks devices for theirs. */
#include "lib/api/opening.h"

#include <fcntl.h>

#include "base/cleanup.h"
#include "lib/direct/linked.h"

int opening_open(const struct query *query, struct opened **ret, struct error *err)
{
	auto_close int mount = open(query->where, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct link_place place;
	bool is_final;
	int r;

	if (mount < 0)
		return error_errno(err, "'%s'", query->where);
	r = link_find(mount, &place, err);
	return r < 0 ? r : linked_open(&place, query, ret, &is_final, err);
}

int opening_renew(struct opened *opened, const struct query *query, struct opened **ret, struct error *err)
{
	int r = opened->backend->renew(opened, query, ret, err);

	return r > 0 ? opening_open(query, ret, err) : r;
}
