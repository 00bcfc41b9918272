/* SPDX-License-Identifier: MIT */
/* Owns the publisher record, which names the process that is changing a volume, because a lock does not. If the record
 * is there although the lock was free, its publisher did not finish. */
#pragma once
#include "base/source.h"

#define HOLDER_TEXT_SIZE 384u

/* Records this process as the publisher. */
must_check int holder_write(struct source *source, uint32_t member, struct error *err);
/* Clears the publisher record and flushes it. */
must_check int holder_clear(struct source *source, uint32_t member, struct error *err);
/* Describes the recorded publisher as "process 42 on node7 since 2026-01-31 12:00:00 UTC"; "": there is none. */
void holder_read(struct source *source, uint32_t member, char text[HOLDER_TEXT_SIZE]);
