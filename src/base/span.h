/* SPDX-License-Identifier: MIT */
/* A range of bytes in memory, and the only way to turn an untrusted offset into a pointer. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const uint8_t *base;
	uint64_t size;
};

static inline struct span span_of(const void *base, uint64_t size)
{
	return (struct span){ base, size };
}

static inline struct span span_text(const char *text)
{
	return span_of(text, strlen(text));
}

/* Returns NULL if any of the length bytes at offset lies outside the span. */
static inline const void *span_at(struct span span, uint64_t offset, uint64_t length)
{
	if (length > span.size || offset > span.size - length)
		return NULL;
	return span.base + offset;
}
