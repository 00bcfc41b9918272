/* SPDX-License-Identifier: MIT */
/* Repeats a read that failed past the mount through the mount. The volume may have moved to another device, or the
 * version on the volume: the bytes are lost only when the mount fails as well. */
#pragma once
#include "lib/direct/direct.h"
#include "read/op.h"

/* Whether the daemon has opened the volume again since it handed it over: a read that fails on the way to the device
 * past the mount does not fail through the mount then. Costs two loads. */
bool rescue_knows_better(const struct direct *direct);
/* Fills in the payload of the read through the mount. Fails at once for a version that was opened by its volume. err
 * holds the reason of the first failure, and on failure gets this one as well. */
must_check int rescue_read(const struct direct *direct, const struct read_request *request, struct error *err);
