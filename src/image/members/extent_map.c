/* SPDX-License-Identifier: MIT */
/* Finds the extent of an offset by binary search. */
#include "image/members/extent_map.h"

#include <errno.h>
#include <stdlib.h>

int extent_map_open(const struct extent_list *list, struct extent_map *ret, struct error *err)
{
	struct extent_map map = { .starts = calloc((size_t)list->count + 1, sizeof(*map.starts)) };
	int r = map.starts ? extent_list_copy(list, &map.list, err) : error_no_memory(err);

	if (r < 0) {
		extent_map_close(&map);
		return r;
	}
	for (uint32_t i = 0; i < list->count; i++)
		map.starts[i + 1] = map.starts[i] + list->items[i].length;
	*ret = map;
	return 0;
}

void extent_map_close(struct extent_map *map)
{
	extent_list_free(&map->list);
	free(map->starts);
	*map = (struct extent_map){ 0 };
}

uint64_t extent_map_address(const struct extent_map *map, uint64_t at)
{
	uint32_t low = 0, high = map->list.count - 1; /* search for the last extent that begins at or before it */

	while (low < high) {
		uint32_t middle = high - (high - low) / 2;

		if (map->starts[middle] <= at)
			low = middle;
		else
			high = middle - 1;
	}
	return map->list.items[low].address + (at - map->starts[low]);
}
