/* SPDX-License-Identifier: MIT */
/* Fills in the operations of the backend past the mount. */
#include "lib/direct/attributes.h"
#include "lib/direct/context.h"
#include "lib/direct/daemon/link.h"
#include "lib/direct/direct.h"
#include "lib/direct/direct_read.h"
#include "lib/direct/extents.h"
#include "lib/direct/linked.h"
#include "lib/direct/listing.h"
#include "lib/direct/lookup.h"
#include "lib/direct/place.h"
#include "lib/direct/placed.h"
#include "lib/direct/versions.h"

static void direct_backend_close(struct opened *opened)
{
	struct direct *direct = (struct direct *)opened;

	context_close_all(direct);
	direct_free(direct);
}

static int direct_backend_renew(struct opened *opened, const struct query *query, struct opened **ret,
				struct error *err)
{
	const struct direct *direct = (const struct direct *)opened;

	return direct->link ? linked_renew(direct, query, ret, err) : direct_renew(opened, query, ret, err);
}

static bool direct_backend_lives(const struct opened *opened)
{
	const struct direct *direct = (const struct direct *)opened;

	return direct->link && link_lives(direct->link);
}

const struct backend direct_backend = {
	.kind = DSFS_WAY_DIRECT,
	.lookup = lookup_id,
	.lookup_many = lookup_ids,
	.stat = attributes_stat,
	.readlink = attributes_readlink,
	.path = place_path,
	.list = listing_list,
	.walk = listing_walk,
	.range = place_range,
	.versions = versions_list,
	.extents = extents_list,
	.placed = placed_list,
	.read_many = direct_read_many,
	.pending_new = direct_read_pending,
	.renew = direct_backend_renew,
	.lives = direct_backend_lives,
	.close = direct_backend_close,
};
