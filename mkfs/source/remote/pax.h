/* SPDX-License-Identifier: MIT */
/* Headers of a tar archive, for objects that become one on their way to the process that decodes archives. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PAX_BLOCK 512u

struct pax_entry {
	const char *path; /* a folder ends with a slash */
	uint64_t size;
	int64_t mtime;    /* seconds */
};

/* A function that takes the next bytes of the archive. */
typedef int pax_sink(void *argument, const void *bytes, size_t length, struct error *err);

/* Writes the headers of an entry, which belongs to user 0 and may be read by all. */
must_check int pax_begin(const struct pax_entry *entry, pax_sink *sink, void *argument, struct error *err);
/* Writes the padding behind the content. */
must_check int pax_pad(uint64_t size, pax_sink *sink, void *argument, struct error *err);
/* Writes the mark of the archive's end. */
must_check int pax_end(pax_sink *sink, void *argument, struct error *err);
