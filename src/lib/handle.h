/* SPDX-License-Identifier: MIT */
/* A handle: which version it has now, and what it was asked for. */
#pragma once
#include "lib/lib.h"

/* The version that the handle has now, for one call; opened_put() ends that. */
struct opened *handle_get(struct dsfs *fs);
void handle_put(struct opened *opened);

/* Whether the id is one of this version: -ESTALE. */
must_check int handle_check_id(const struct opened *opened, uint64_t id, struct error *err);
