/* SPDX-License-Identifier: MIT */
/* Allocates memory and asks the kernel for huge pages. */
#include "base/huge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* A huge page of the kernel is as large as one page of its tables, with entries of 8 bytes, can map. */
static bool huge_is_ours(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return page / sizeof(uint64_t) * page == HUGE_PAGE;
}

void huge_advise(void *map, size_t size)
{
	if (huge_is_ours())
		(void)madvise(map, size, MADV_HUGEPAGE);
}
