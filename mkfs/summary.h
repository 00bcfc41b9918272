/* SPDX-License-Identifier: MIT */
/* What a run says on standard output when it is done. */
#pragma once
#include "pack.h"

void summary_print(const struct pack_options *options, const struct pack_result *result);
void summary_print_estimate(const struct pack_options *options, const struct pack_estimate *estimate);
