/* SPDX-License-Identifier: MIT */
/* Reads the fields of SSH's messages one after the other. A field that does not fit ends the reading for good, so a
 * caller may read several fields and check once. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/span.h"

struct sshwire {
	struct span rest;
	bool failed;
};

/* Returns the next bytes; an empty span if there are not as many. */
static inline struct span sshwire_bytes(struct sshwire *wire, uint64_t length)
{
	const void *at = wire->failed ? NULL : span_at(wire->rest, 0, length);

	if (!at) {
		wire->failed = true;
		wire->rest.size = 0;
		return span_of(NULL, 0);
	}
	wire->rest = span_of(wire->rest.base + length, wire->rest.size - length);
	return span_of(at, length);
}

/* Returns a number of so many bytes, at most 8, in network byte order; 0 if it is not there. */
static inline uint64_t sshwire_number(struct sshwire *wire, unsigned size)
{
	struct span bytes = sshwire_bytes(wire, size);
	uint64_t number = 0;

	for (uint64_t i = 0; i < bytes.size; i++)
		number = number << 8 | bytes.base[i];
	return number;
}

/* Returns a field that begins with its length. */
static inline struct span sshwire_string(struct sshwire *wire)
{
	return sshwire_bytes(wire, sshwire_number(wire, 4));
}

/* Whether everything was read, and nothing is left. */
static inline bool sshwire_is_done(const struct sshwire *wire)
{
	return !wire->failed && !wire->rest.size;
}

static inline bool sshwire_equals(struct span bytes, const char *text)
{
	return bytes.size == strlen(text) && !memcmp(bytes.base, text, bytes.size);
}
