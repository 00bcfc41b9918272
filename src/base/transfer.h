/* SPDX-License-Identifier: MIT */
/* Reads and writes that repeat until all bytes are transferred, because one call may be short or interrupted. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Return the number of bytes read, less than length only at the end of the file, or -1 with errno. */
ssize_t transfer_read(int fd, void *buffer, size_t length);
ssize_t transfer_read_at(int fd, void *buffer, size_t length, uint64_t offset);

/* Return 0 once everything is written, or -1 with errno; EIO if a call writes nothing without giving a reason. */
int transfer_write(int fd, const void *buffer, size_t length);
int transfer_write_at(int fd, const void *buffer, size_t length, uint64_t offset);
