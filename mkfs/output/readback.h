/* SPDX-License-Identifier: MIT */
/* Reads written bytes back from the volume and compares them, while more is being written. */
#pragma once
#include "base/program/progress.h"
#include "base/source.h"
#include "spill/temp.h"

#define READBACK_STEP (UINT64_C(64) << 20) /* bytes between two flushes of the volume */
#define READBACK_MAX  (4u << 20)           /* bytes of one write */

struct readback;

must_check int readback_open(struct source *source, const struct temp *temp, struct readback **ret,
			     struct error *err);
void readback_close(struct readback *readback); /* NULL does nothing */
/* Adds a write that the volume accepted: whole blocks, at most READBACK_MAX, at an address that is not written again.
 * Any thread may call it. Fails if an earlier write turned out to be wrong. */
must_check int readback_add(struct readback *readback, uint64_t address, const uint8_t *bytes, size_t length,
			    struct error *err);
/* Flushes the volume, and returns when everything was read and compared. Call it once, after the last write. */
must_check int readback_finish(struct readback *readback, struct progress *progress, struct error *err);
