/* SPDX-License-Identifier: MIT */
/* Opens the version of a mount past it: the daemon hands over index and volume. */
#pragma once
#include "lib/direct.h"
#include "lib/link.h"

/* *ret_final, on failure: nobody could have what is wished for, so there is no use in another way. */
must_check int linked_open(const struct link_place *place, const struct wish *wish, struct opened **ret,
			   bool *ret_final, struct error *err);
/* Whether a version that was opened so is what the wish asks for now. */
must_check int linked_is_current(const struct direct *direct, const struct wish *wish, bool *ret, struct error *err);
