/* SPDX-License-Identifier: MIT */
/* A volume of several members in memory. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "lib/memory.h"

#define SEVERAL_MAX 4u

struct several {
	struct source source;
	struct memory members[SEVERAL_MAX];
	bool is_missing[SEVERAL_MAX];
	uint32_t count;
};

void several_init(struct several *several, uint32_t count, uint64_t size); /* zeros */
void several_done(struct several *several);
