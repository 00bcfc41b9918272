/* SPDX-License-Identifier: MIT */
/* Contiguous memory on huge pages, so that a device gets one address for 1 MiB instead of 256. Everything also works
 * without huge pages. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define HUGE_PAGE ((size_t)2 << 20) /* with pages of 4 KiB */

/* Allocates at least size bytes, in whole huge pages, for direct I/O; free() them. NULL: out of memory. */
void *huge_alloc(size_t size);
/* Gives the memory from huge_alloc() back to the kernel; it reads as zeros until it is written again. */
void huge_empty(void *bytes, size_t size);
/* Asks for huge pages in mapped memory that was never touched. map is page-aligned. Does nothing where a huge page is
 * larger than HUGE_PAGE: with pages of 64 KiB it has 512 MiB, and most would stay unused. */
void huge_advise(void *map, size_t size);
