/* SPDX-License-Identifier: MIT */
/* Combines the members of a volume, each a file or a device, into one byte source. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "io/file.h"

/* The members by slot. Reads and writes of an empty slot fail with -ENODEV; its size is 0 and its descriptor -1. */
struct array_source {
	struct source source;
	uint32_t count;
	struct file_source **files;
	int *fds;                       /* descriptors of the members, for an engine, and of the files that
	                                 * array_extend() adds */
	uint32_t fd_count;
	struct file_geometry *geometry; /* their geometry, for a reader; logical_block is the largest of all members */
	/* Set by the owner, or NULL: tells whether a member does not answer. Then its reads fail with -ETIMEDOUT at
	 * once and its size is 0. */
	bool (*is_silent)(const void *owner, uint32_t slot);
	const void *owner;
	struct window *pace; /* holds back reads, io/pace.h; NULL: they begin at once. array_close() frees it */
};

/* Makes an array whose slots are all empty. */
must_check int array_new(uint32_t count, struct array_source **ret, struct error *err);
/* Adds an empty slot. No other thread may use the array. */
must_check int array_add(struct array_source *array, struct error *err);
/* Puts file, which may be NULL, into the slot; array_close() closes it. Returns the slot's former member. */
struct file_source *array_put(struct array_source *array, uint32_t slot, struct file_source *file);
/* Opens a placeholder descriptor for each empty slot, so that array_adopt() can give its number to a member. */
must_check int array_reserve(struct array_source *array, struct error *err);
/* True if the slot has a member. Other threads may adopt one meanwhile. */
bool array_has(const struct array_source *array, uint32_t slot);
/* Returns the bytes that the slot's member had when it was opened or last asked for its size. Does not ask, which may
 * block. */
uint64_t array_last_size(const struct array_source *array, uint32_t slot);
/* Takes file on success: gives it the slot's descriptor number and replaces the slot's member, if any. Its logical
 * blocks must not be larger than those of the other members. Other threads may read meanwhile. */
must_check int array_adopt(struct array_source *array, uint32_t slot, struct file_source *file, struct error *err);
/* Adds a descriptor behind those of the members, for an engine: of a file that has some of their bytes, too. It stays
 * the caller's. Only once, and before there are engines. */
void array_extend(struct array_source *array, int fd);
/* array may be NULL. */
void array_close(struct array_source *array);
