/* SPDX-License-Identifier: MIT */
/* The publisher record while somebody changes a volume. A lock does not say who holds it, the record does. If the
 * record is there although the lock was free, its publisher did not finish. */
#pragma once
#include "base/source.h"

#define HOLDER_TEXT_SIZE 384u

/* We, from now on. */
must_check int holder_write(struct source *source, uint32_t member, struct error *err);
/* Nobody any more; durable. */
must_check int holder_clear(struct source *source, uint32_t member, struct error *err);
/* "process 42 on node7 since 2026-01-31 12:00:00 UTC", or "" when nobody is recorded. */
void holder_read(struct source *source, uint32_t member, char text[HOLDER_TEXT_SIZE]);
