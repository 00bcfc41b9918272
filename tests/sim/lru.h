/* SPDX-License-Identifier: MIT */
/* A cache to compare with: one that throws away the file that was read longest ago. It costs no time. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct lru_file {
	uint32_t newer, older; /* numbers of files, and 1; 0: none */
	uint64_t id;           /* of what is held; 0: nothing */
};

struct lru {
	struct lru_file *files;
	uint32_t newest, oldest, count, room;
};

void lru_init(struct lru *lru, uint32_t files, uint32_t room); /* ends the program without memory */
void lru_free(struct lru *lru);
bool lru_holds(const struct lru *lru, uint64_t id); /* the lower half of an id is the number of the file */
/* A file was read. True: it is written, as it was not there. */
bool lru_use(struct lru *lru, uint64_t id);
