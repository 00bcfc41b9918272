/* SPDX-License-Identifier: MIT */
/* Opens a mount's version past the mount, with the index and volume that the daemon hands over. */
#pragma once
#include "lib/direct/daemon/link.h"
#include "lib/direct/direct.h"

/* Opens the version asked for. *ret_final, on failure: no other way could open it either, as it does not exist or has
 * another digest. */
must_check int linked_open(const struct link_place *place, const struct query *query, struct opened **ret,
			   bool *ret_final, struct error *err);
/* Implements backend->renew for a version that linked_open() opened. */
must_check int linked_renew(const struct direct *direct, const struct query *query, struct opened **ret,
			    struct error *err);
