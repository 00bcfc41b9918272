/* SPDX-License-Identifier: MIT */
/* Remembers for --compress auto which kinds of file (by extension) are worth compressing. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPRESS_HINTS_KINDS   4096u /* extensions are hashed to this many kinds */
#define COMPRESS_HINTS_SAMPLES 8u    /* sample files that decide about a kind */

/* A decision about a kind takes effect PIPELINE_DEPTH batches after the one that made it, so the result is the same for
 * any number of threads and any timing. Until then, every file of the kind is tried. */
struct compress_hints {
	struct compress_hints_entry {
		uint64_t content, stored; /* bytes of the samples; used only by the thread that takes batches */
		uint32_t samples;         /* likewise */
		atomic_uint_least64_t raw_after; /* 1 + the batch that decided against compression; 0: none */
	} entries[COMPRESS_HINTS_KINDS];
};

uint16_t compress_hints_kind_of(const char *name, size_t length);
/* Returns whether readers should try to compress files of this kind in this batch. For the thread that fills it. */
bool compress_hints_wants(struct compress_hints *hints, uint16_t kind, uint64_t batch);
/* Adds the result for a file of this kind, which was tried in this batch. For the thread that takes the batch. */
void compress_hints_learn(struct compress_hints *hints, uint16_t kind, uint64_t batch, uint64_t content,
			  uint64_t stored);
