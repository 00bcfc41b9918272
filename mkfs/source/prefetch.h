/* SPDX-License-Identifier: MIT */
/* Reads directories ahead, several in parallel, and returns them in the order they were asked for. */
#pragma once
#include "source/listing.h"

#define PREFETCH_DEPTH 8u

struct prefetch;

must_check int prefetch_open(const struct listing_context *context, struct prefetch **ret, struct error *err);
void prefetch_close(struct prefetch *prefetch);
bool prefetch_has_room(struct prefetch *prefetch);
bool prefetch_is_empty(struct prefetch *prefetch); /* all directories that were asked for were taken */
must_check int prefetch_ask(struct prefetch *prefetch, const char *path, struct error *err);
must_check int prefetch_take(struct prefetch *prefetch, struct listing *ret, struct error *err);
