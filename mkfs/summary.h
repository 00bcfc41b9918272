/* SPDX-License-Identifier: MIT */
/* What a run prints on standard output at its end. */
#pragma once
#include "pack.h"

void summary_print(const struct pack_options *options, const struct pack_result *result);
void summary_print_estimate(const struct pack_options *options, const struct pack_estimate *estimate);
