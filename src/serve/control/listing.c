/* SPDX-License-Identifier: MIT */
/* Drops a listing by invalidating its directory: the kernel would keep it forever, but a volume's versions change. */
#include "serve/control/listing.h"

#include "base/clock.h"
#include "base/log.h"
#include "fuse/invalidate.h"

#define LISTING_VALID INT64_C(50000000) /* ns in which the kernel takes over a listing after the reply */

void listing_answered(struct serve *serve)
{
	atomic_store(&serve->due.listing, clock_now() + LISTING_VALID);
	wake_up(&serve->wake);
}

int64_t listing_settle(struct serve *serve)
{
	int64_t listed = atomic_load(&serve->due.listing);
	struct error err = { 0 };

	/* If another listing was answered meanwhile, its time counts. */
	if (!listed || clock_now() < listed || !atomic_compare_exchange_strong(&serve->due.listing, &listed, 0))
		return listed;
	if (invalidate_inode(serve->mount_fd, NODE_VERSIONS, &err) < 0)
		log_debug("%s", err.reason);
	return 0;
}
