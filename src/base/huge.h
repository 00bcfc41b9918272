/* SPDX-License-Identifier: MIT */
/* Contiguous memory on huge pages where the kernel has them, so that a device gets one address for 1 MiB instead of
 * 256. Without huge pages everything still works. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define HUGE_PAGE ((size_t)2 << 20) /* where pages have 4 KiB; others need it less */

/* At least size bytes, of whole huge pages, for direct I/O; free() them. NULL: no memory. */
void *huge_alloc(size_t size);
/* The kernel takes the memory of what huge_alloc() returned, until it is written to again. */
void huge_empty(void *bytes, size_t size);
/* For memory that was mapped and not touched yet, from a page on. */
void huge_advise(void *map, size_t size);
