/* SPDX-License-Identifier: MIT */
/* Memory in one piece, by huge pages, where the kernel has them: a device that is to read or write 1 MiB gets one
 * address instead of 256. Without them everything works on small pages. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define HUGE_PAGE ((size_t)2 << 20) /* where pages have 4 KiB; others need it less */

/* At least size bytes, of whole huge pages, for direct I/O; free() them. NULL: no memory. */
void *huge_alloc(size_t size);
/* For memory that was mapped and not touched yet, from a page on. */
void huge_advise(void *map, size_t size);
