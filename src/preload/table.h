/* SPDX-License-Identifier: MIT */
/* Files that are open past the mount, by the number that the program has for each. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/lib.h"
#include "preload/datasets.h"

#define TABLE_SIZE 16384 /* larger numbers are real from the beginning */
#define TABLE_PATH 384u  /* bytes; files with longer paths too */

/* O_LARGEFILE of the kernel, which sets it for each process of 64 bits; the C library's header has 0. */
#ifdef __aarch64__
#define TABLE_LARGEFILE 0400000
#else
#define TABLE_LARGEFILE 0100000
#endif

/* What is open; but for the offset and the contents it stays as it is. */
struct table_file {
	const struct dataset *dataset;
	struct opened *opened; /* a use of it: the version stays whatever the mount switches to */
	uint64_t id, size;
	int flags;    /* of open(2) */
	bool is_real; /* --compat: the descriptor is the mount's, and so is the offset */
	char below[TABLE_PATH]; /* the path from the root of the data set on */
	uint64_t offset;
	uint8_t *contents; /* of size bytes; NULL: not read, or handed on when it was read */
};

struct table_entry {
	pthread_mutex_t lock;
	_Atomic bool is_used;
	struct table_file file;
};

/* Before the first is added. False: no memory. */
bool table_make(void);
/* Whether there may be any, or this one; for who is not inside yet. */
bool table_has_any(void);
bool table_may_have(int fd);

/* All that follows is called inside. The entry of a number, locked, if it is what the program has there; else
 * NULL. */
struct table_entry *table_get(int fd);
void table_put(struct table_entry *entry);
/* Takes file's use of the version on success. */
bool table_add(int fd, const struct table_file *file);
/* The number means something else by now, or nothing. */
void table_drop(struct table_entry *entry); /* a locked one */
void table_forget(int fd);
/* The first number from this one on that has an entry, or -1. */
int table_next(unsigned from);
