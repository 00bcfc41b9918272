/* SPDX-License-Identifier: MIT */
/* A volume of several members in memory. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "lib/memory.h"

#define MULTI_MEMBER_MAX 4u

struct multi_member {
	struct source source;
	struct memory members[MULTI_MEMBER_MAX];
	bool is_missing[MULTI_MEMBER_MAX];
	uint32_t count;
};

void multi_member_init(struct multi_member *volume, uint32_t count, uint64_t size); /* zeros */
void multi_member_done(struct multi_member *volume);
