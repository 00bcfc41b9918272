/* SPDX-License-Identifier: MIT */
#include "base/huge.h"

#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

static size_t huge_whole(size_t size)
{
	return (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

void *huge_alloc(size_t size)
{
	size_t whole = huge_whole(size);
	void *bytes = aligned_alloc(HUGE_PAGE, whole);

	if (bytes)
		(void)madvise(bytes, whole, MADV_HUGEPAGE);
	return bytes;
}

/* The advice is for what was not touched yet. The rest is collapsed, but for pages whose address a device has at the moment:
 * khugepaged may come to those later. */
void huge_join(uint8_t *bytes, size_t size)
{
	size_t before = (uintptr_t)bytes % HUGE_PAGE;
	size_t whole = huge_whole(before + size);

	(void)madvise(bytes - before, whole, MADV_HUGEPAGE);
	(void)madvise(bytes - before, whole, MADV_COLLAPSE);
}
