/* SPDX-License-Identifier: MIT */
/* --compress auto: which kinds of file (by extension) are worth compressing. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPRESS_HINTS_KINDS   4096u /* extensions are hashed into so many kinds */
#define COMPRESS_HINTS_SAMPLES 8u    /* files after which a kind is decided */

/* A verdict holds from a batch on that is PIPELINE_DEPTH after the one that decided, so that it is the same for any
 * number of threads and any timing. Until then every file of the kind is tried. */
struct compress_hints {
	struct compress_hints_entry {
		uint64_t content, stored; /* bytes of the samples; the taker's */
		uint32_t samples;         /* the taker's */
		atomic_uint_least64_t raw_after; /* 1 + number of the batch that decided for raw, 0: not raw */
	} entries[COMPRESS_HINTS_KINDS];
};

uint16_t compress_hints_kind_of(const char *name, size_t length);
/* For the filler of batch number. */
bool compress_hints_wants(struct compress_hints *hints, uint16_t kind, uint64_t batch);
/* For the taker of batch number: a file of the kind was tried. */
void compress_hints_learn(struct compress_hints *hints, uint16_t kind, uint64_t batch, uint64_t content,
			  uint64_t stored);
