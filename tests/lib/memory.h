/* SPDX-License-Identifier: MIT */
/* A volume in memory, with damage and failures on demand. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/source.h"

struct memory {
	struct source source;
	uint8_t *bytes;
	uint64_t size, room;
	_Atomic uint64_t calls; /* reads, writes and flushes so far, by any thread */
	uint64_t fail_at;       /* this call (from 1) and no other fails with -EIO; 0 for none */
};

void memory_init(struct memory *memory, uint64_t size); /* zeros */
void memory_done(struct memory *memory);
