/* SPDX-License-Identifier: MIT */
/* Owns the verified bytes of each open file, which are read from the device at the first use. */
#pragma once
#include <sys/types.h>

#include "preload/files/table_file.h"

/* Must be called before anything else here; false: no memory. */
bool contents_make(void);
/* Reads like pread(2) from the file of a locked entry. Must be called inside (inside.h). -1: it failed, and a read
 * through the mount will report why. */
ssize_t contents_read(struct table_file *file, void *buffer, size_t size, uint64_t offset);
/* Returns all bytes of the file, which the entry keeps; NULL: they cannot be read, or there is no memory. */
const uint8_t *contents_load(struct table_file *file);
void contents_free(struct table_file *file);
