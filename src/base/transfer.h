/* SPDX-License-Identifier: MIT */
/* Reads and writes that go on until all bytes are there, as one call may transfer a part of them or be interrupted. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Return the bytes read, fewer than length only at the end of the file, or -1 with errno. */
ssize_t transfer_read(int fd, void *buffer, size_t length);
ssize_t transfer_read_at(int fd, void *buffer, size_t length, uint64_t offset);

/* Return 0 once all is written, or -1 with errno: EIO when a call writes nothing and gives no reason. */
int transfer_write(int fd, const void *buffer, size_t length);
int transfer_write_at(int fd, const void *buffer, size_t length, uint64_t offset);
