/* SPDX-License-Identifier: MIT */
/* The bytes of an open file, verified: read from the device at the first use. */
#pragma once
#include <sys/types.h>

#include "preload/table_file.h"

/* Before anything else here. False: no memory. */
bool contents_make(void);
/* As pread(2), of a locked entry. -1: it cannot be read so; the mount will say why. Called inside. */
ssize_t contents_read(struct table_file *file, void *buffer, size_t size, uint64_t offset);
/* All of them; NULL as -1 above. */
const uint8_t *contents_load(struct table_file *file);
void contents_free(struct table_file *file);
