/* SPDX-License-Identifier: MIT */
/* Owns the table of files that are open past the mount, by the program's descriptor for each. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/files/table_file.h"

#define TABLE_SIZE 16384 /* larger numbers are real from the beginning */

struct table_entry {
	pthread_mutex_t lock;
	_Atomic bool is_used;
	struct table_file file;
};

/* Must be called before table_add(). False: no memory. */
bool table_make(void);
/* Whether there may be any entry, or one for this descriptor; for callers that are not inside. */
bool table_has_any(void);
bool table_may_have(int fd);

/* Returns the entry of a descriptor, locked, if the program still has our file there; else NULL. This and all calls
 * below are made inside (inside.h). */
struct table_entry *table_get(int fd);
void table_put(struct table_entry *entry);
/* Enters a file, and takes its use of the version on success. */
bool table_add(int fd, const struct table_file *file);
/* Drop the entry of a descriptor that was closed or reused. */
void table_drop(struct table_entry *entry); /* takes a locked entry */
void table_forget(int fd);
/* Returns the lowest descriptor from this one on that has an entry, or -1. */
int table_next(unsigned from);
