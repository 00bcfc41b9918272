/* SPDX-License-Identifier: MIT */
/* Opens the version of a mount past it: the daemon hands over index and volume. */
#pragma once
#include "lib/direct.h"
#include "lib/link.h"

/* *ret_final, on failure: nobody could have what is wished for, so there is no use in another way. */
must_check int linked_open(const struct link_place *place, const struct wish *wish, struct opened **ret,
			   bool *ret_final, struct error *err);
/* As way->renew, of a version that was opened so. 1: its daemon does not say, so the name is to be opened again. */
must_check int linked_renew(const struct direct *direct, const struct wish *wish, struct opened **ret,
			    struct error *err);
