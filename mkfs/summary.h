/* SPDX-License-Identifier: MIT */
/* Prints the result of a run on standard output. */
#pragma once
#include "pack.h"

void summary_print(const struct pack_options *options, const struct pack_result *result);
void summary_print_estimate(const struct pack_options *options, const struct pack_estimate *estimate,
			    const struct tar_replaced *replaced);
