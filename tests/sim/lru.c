/* SPDX-License-Identifier: MIT */
#include "lru.h"

#include <stdio.h>
#include <stdlib.h>

void lru_init(struct lru *lru, uint32_t files, uint32_t room)
{
	*lru = (struct lru){ .files = calloc(files, sizeof(*lru->files)), .room = room };
	if (!lru->files) {
		fprintf(stderr, "sim: no memory\n");
		exit(1);
	}
}

void lru_free(struct lru *lru)
{
	free(lru->files);
}

bool lru_holds(const struct lru *lru, uint64_t id)
{
	return lru->files && lru->files[(uint32_t)id].id == id;
}

static void lru_remove(struct lru *lru, uint32_t number)
{
	struct lru_file *file = &lru->files[number];

	*(file->newer ? &lru->files[file->newer - 1].older : &lru->newest) = file->older;
	*(file->older ? &lru->files[file->older - 1].newer : &lru->oldest) = file->newer;
	file->id = 0;
	lru->count--;
}

static void lru_add(struct lru *lru, uint32_t number, uint64_t id)
{
	lru->files[number] = (struct lru_file){ .older = lru->newest, .id = id };
	*(lru->newest ? &lru->files[lru->newest - 1].newer : &lru->oldest) = number + 1;
	lru->newest = number + 1;
	lru->count++;
}

bool lru_use(struct lru *lru, uint64_t id)
{
	uint32_t number = (uint32_t)id;
	bool was_held = lru_holds(lru, id);

	if (!lru->room)
		return false;
	if (lru->files[number].id)
		lru_remove(lru, number);
	else if (lru->count == lru->room)
		lru_remove(lru, lru->oldest - 1);
	lru_add(lru, number, id);
	return !was_held;
}
