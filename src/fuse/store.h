/* SPDX-License-Identifier: MIT */
/* Puts the contents of a file into the kernel's page cache before anybody reads it.
 *
 * The kernel waits for pages of which a READ is owed. So only a thread that owes no reply may call this, and one that
 * holds nothing that a worker needs: else the worker waits for it, it waits for the worker, and nothing but an abort of
 * the connection ends that. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* All of a regular file of so many bytes: neither less nor padded, or the kernel doubts its attributes. 0 or a negative
 * errno; -ENOENT: the kernel does not know the node, which it does after a LOOKUP or READDIRPLUS. */
must_check int store_file(int fd, uint64_t nodeid, const void *bytes, size_t size);
