/* SPDX-License-Identifier: MIT */
/* The operations of the way past the mount. */
#include "lib/direct.h"
#include "lib/direct_read.h"
#include "lib/lane.h"

static void direct_way_close(struct opened *opened)
{
	struct direct *direct = (struct direct *)opened;

	lane_close_all(direct);
	direct_free(direct);
}

const struct way direct_way = {
	.kind = DSFS_WAY_DIRECT,
	.read_many = direct_read_many,
	.pending_new = direct_read_pending,
	.renew = direct_renew,
	.close = direct_way_close,
};
