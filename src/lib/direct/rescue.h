/* SPDX-License-Identifier: MIT */
/* Repeats a read that failed past the mount through the mount. The volume may have moved to another device, or the
 * version on the volume: the bytes are lost only when the mount fails as well. */
#pragma once
#include "lib/direct/direct.h"
#include "read/op.h"

/* Whether the daemon has opened the volume again since it handed it over. A read past the mount that fails on the path
 * to the device may then succeed through the mount. Costs two loads. */
bool rescue_knows_better(const struct direct *direct);
/* Reads the request's bytes through the mount. err holds the reason why the read past the mount failed; if this one
 * fails too, adds its reason and returns the first code. Fails at once for a version that was opened by the name of its
 * volume. */
must_check int rescue_read(const struct direct *direct, const struct read_request *request, struct error *err);
