/* SPDX-License-Identifier: MIT */
/* Builds a small block checksum section: what the packer does at scale. */
#pragma once
#include <stdint.h>

#include "image/catalogue/catalogue.h"

/* A chunk with a row. */
struct rows_chunk {
	uint64_t number;
	const void *content;
	uint32_t length;
};

/* The section for the version's chunk_log and chunk_count, with rows for these chunks, in ascending order; free() it.
 * Fills version->block_sums, at this address (version_free() its list), and its sum. */
uint8_t *rows_section(struct version *version, uint64_t address, const struct rows_chunk *chunks, unsigned count);
/* After a change of the head: its SHA-256 as the version has it. */
void rows_sign(struct version *version, const uint8_t *section, uint64_t head_length);
