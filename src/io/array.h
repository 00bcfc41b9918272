/* SPDX-License-Identifier: MIT */
/* The members of a volume, each a file or a device, as one byte source. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "io/file.h"

/* By slot. A slot that has no member is read and written with -ENODEV, has no size, and its descriptor is -1. */
struct array_source {
	struct source source;
	uint32_t count;
	struct file_source **files;
	int *fds;                       /* theirs, as an engine takes them, */
	struct file_geometry *geometry; /* and what they are, as a reader takes it: logical_block is the largest */
	/* Set by the owner, or NULL: whether a member does not answer. Then reads of it fail with -ETIMEDOUT at once,
	 * and its size is 0. */
	bool (*is_silent)(const void *owner, uint32_t slot);
	const void *owner;
};

/* No slot has a member yet. */
must_check int array_new(uint32_t count, struct array_source **ret, struct error *err);
/* Takes file, which may be NULL, and closes it with the others; returns the one that was there. */
struct file_source *array_put(struct array_source *array, uint32_t slot, struct file_source *file);
/* Gives each slot that has no member a descriptor, of nothing, so that array_adopt() can give its number to one. */
must_check int array_reserve(struct array_source *array, struct error *err);
/* Whether the slot has a member. Other threads may adopt one meanwhile. */
bool array_has(const struct array_source *array, uint32_t slot);
/* Takes file on success: it gets the slot's descriptor number and replaces the member in the slot, if there is one. Its
 * logical blocks must not be larger than those of all others. Other threads may read meanwhile. */
must_check int array_adopt(struct array_source *array, uint32_t slot, struct file_source *file, struct error *err);
/* An array of this one, which it takes on success. */
must_check int array_of(struct file_source *file, struct array_source **ret, struct error *err);
/* May be NULL. */
void array_close(struct array_source *array);
