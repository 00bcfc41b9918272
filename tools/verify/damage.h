/* SPDX-License-Identifier: MIT */
/* Collects damage for verify: the number of all damaged chunks, and the first of them in the order of the volume. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "verify/item.h"

#define DAMAGE_SHOWN 20

struct damage {
	struct item item;
	char reason[192];
};

struct damage_list {
	pthread_mutex_t lock;
	/* the first in item_compare()'s order, whatever thread found them */
	struct damage shown[DAMAGE_SHOWN];
	unsigned shown_count;
	uint64_t count;
};

void damage_init(struct damage_list *list);
void damage_end(struct damage_list *list);
/* Adds a damaged chunk. Any thread may call it. */
void damage_add(struct damage_list *list, const struct item *item, const struct error *err);
