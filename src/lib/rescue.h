/* SPDX-License-Identifier: MIT */
/* A read that failed past the mount, once more through it. The volume may have moved to another device, or the version
 * on the volume: only when the mount fails as well the bytes are lost. */
#pragma once
#include "lib/direct.h"
#include "read/op.h"

/* Whether the daemon reads the volume by a descriptor that it opened since: what fails on the way to the device past
 * the mount does not fail through it. Two loads. */
bool rescue_knows_better(const struct direct *direct);
/* Fills in the payload of the read. Not for versions that were opened by their volume. On failure err, which has the
 * reason of the first failure, gets this one as well. */
must_check int rescue_read(const struct direct *direct, const struct read_request *request, struct error *err);
