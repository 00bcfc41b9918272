/* SPDX-License-Identifier: MIT */
/* The files of a version, and what the source has in their place. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "datasetfs/datasetfs.h"

#define FAIL(...) \
	do { \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
		fprintf(stderr, __VA_ARGS__); \
		fprintf(stderr, " (%s)\n", dsfs_reason()); \
		exit(1); \
	} while (0)

struct file {
	uint64_t id, size;
	const uint8_t *bytes; /* of the source */
	char *path;
};

struct files {
	struct file *items;
	size_t count;
};

/* All regular files, by dsfs_walk(), with the contents that source has. Exits when something is wrong. */
void files_find(struct dsfs *fs, const char *source, struct files *ret);
void files_free(struct files *files);
/* Exits when the result of a read is not that part of the file. */
void files_check(const struct file *file, const struct dsfs_read *read);
/* A number below limit; state is a thread's. */
uint64_t files_random(uint64_t *state, uint64_t limit);
/* Reads 64 files at random with one call, and checks them. The arena is reset; state is a thread's. */
void files_read_batch(const struct files *files, struct dsfs *fs, struct dsfs_arena *arena, uint64_t *state);
struct dsfs *files_open(const char *volume);
