/* SPDX-License-Identifier: MIT */
/* Allocates memory and asks the kernel for huge pages. */
#include "base/huge.h"

#include <stdlib.h>
#include <sys/mman.h>

static size_t huge_whole(size_t size)
{
	return (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

void *huge_alloc(size_t size)
{
	size_t whole = huge_whole(size);
	void *bytes = aligned_alloc(HUGE_PAGE, whole);

	if (bytes)
		huge_advise(bytes, whole);
	return bytes;
}

void huge_empty(void *bytes, size_t size)
{
	(void)madvise(bytes, huge_whole(size), MADV_DONTNEED);
}

void huge_advise(void *map, size_t size)
{
	(void)madvise(map, size, MADV_HUGEPAGE);
}
