/* SPDX-License-Identifier: MIT */
/* Fills in the operations of the way past the mount. */
#include "lib/direct/attributes.h"
#include "lib/direct/context.h"
#include "lib/direct/direct.h"
#include "lib/direct/direct_read.h"
#include "lib/direct/extents.h"
#include "lib/direct/linked.h"
#include "lib/direct/listing.h"
#include "lib/direct/lookup.h"
#include "lib/direct/place.h"
#include "lib/direct/versions.h"

static void direct_way_close(struct opened *opened)
{
	struct direct *direct = (struct direct *)opened;

	context_close_all(direct);
	direct_free(direct);
}

static int direct_way_renew(struct opened *opened, const struct query *query, struct opened **ret, struct error *err)
{
	const struct direct *direct = (const struct direct *)opened;

	return direct->link ? linked_renew(direct, query, ret, err) : direct_renew(opened, query, ret, err);
}

const struct way direct_way = {
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
	.read_many = direct_read_many,
	.pending_new = direct_read_pending,
	.renew = direct_way_renew,
	.close = direct_way_close,
};
