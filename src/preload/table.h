/* SPDX-License-Identifier: MIT */
/* Files that are open past the mount, by the number that the program has for each. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/table_file.h"

#define TABLE_SIZE 16384 /* larger numbers are real from the beginning */

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
