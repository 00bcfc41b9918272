/* SPDX-License-Identifier: MIT */
#include "tier.h"

#include <stdio.h>
#include <stdlib.h>

void tier_init(struct tier *tier, const struct tier_setup *setup)
{
	*tier = (struct tier){ .setup = *setup, .room = (uint32_t)(setup->part * setup->files),
			       .turn = setup->files };
	tier->held = calloc(setup->files / 64 + 1, sizeof(*tier->held));
	if (!tier->held) {
		fprintf(stderr, "sim: no memory\n");
		exit(1);
	}
}

void tier_free(struct tier *tier)
{
	free(tier->held);
}

static uint32_t tier_divisor(uint32_t a, uint32_t b)
{
	return b ? tier_divisor(b, a % b) : a;
}

/* Steps that have no divisor in common with the number of files reach each of them once. */
static void tier_begin_epoch(struct tier *tier, struct random *random)
{
	tier->turn = 0;
	tier->first = random_below(random, tier->setup.files);
	do
		tier->step = random_below(random, tier->setup.files) + 1;
	while (tier_divisor(tier->step, tier->setup.files) != 1);
}

uint32_t tier_next(struct tier *tier, struct random *random)
{
	if (tier->setup.draws)
		return random_below(random, tier->setup.files);
	if (tier->turn == tier->setup.files)
		tier_begin_epoch(tier, random);
	return (uint32_t)((tier->first + (uint64_t)tier->turn++ * tier->step) % tier->setup.files);
}

bool tier_holds(const struct tier *tier, uint32_t file)
{
	return tier->held[file / 64] >> file % 64 & 1;
}

void tier_fill(struct tier *tier, uint32_t file, int64_t now)
{
	int64_t each = tier->setup.writes > 0 ? (int64_t)(1e9 / tier->setup.writes) : 0;

	if (tier->count == tier->room || tier_holds(tier, file))
		return;
	if (tier->gate - now > TIER_STAGED * each) {
		tier->dropped++;
		return;
	}
	tier->gate = (tier->gate > now ? tier->gate : now) + each;
	tier->held[file / 64] |= UINT64_C(1) << file % 64;
	tier->count++;
}
