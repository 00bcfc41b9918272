/* SPDX-License-Identifier: MIT */
/* Fills in the figures that the user did not give, and remembers which ones. */
#pragma once
#include "plan/formulas.h"

#define ASSUME_MOST 16

struct assumed {
	const char *option, *value, *why;
};

struct assumptions {
	struct assumed list[ASSUME_MOST];
	unsigned count;
};

/* Gives each figure of the inputs that is 0 its usual value. has_library: programs read by the library, not through the
 * mount. */
void assume_inputs(struct formulas_inputs *inputs, bool has_library, struct assumptions *ret);
void assume_add(struct assumptions *assumptions, const char *option, const char *value, const char *why);
