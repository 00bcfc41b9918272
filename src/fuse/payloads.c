/* SPDX-License-Identifier: MIT */
/* Reserves the address space of all payloads. */
#include "fuse/payloads.h"

#include <sys/mman.h>

#include "base/huge.h"

/* Reserves two huge pages more, so that those of the first and the last slot are in the mapping as a whole. */
int payloads_reserve(struct payloads *ret, unsigned slots, size_t size, struct error *err)
{
	size_t map_size = slots * size + 2 * HUGE_PAGE;
	uint8_t *map = mmap(NULL, map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return error_errno(err, "cannot reserve %zu bytes for requests", map_size);
	huge_advise(map, map_size);
	*ret = (struct payloads){
		.map = map,
		.map_size = map_size,
		.base = map + (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE),
		.size = size,
	};
	return 0;
}

void payloads_free(struct payloads *payloads)
{
	if (payloads->map)
		munmap(payloads->map, payloads->map_size);
	payloads->map = NULL;
}
