/* SPDX-License-Identifier: MIT */
/* Checks metadata from the command line, so that every tool can show it and JSON can hold it. */
#pragma once
#include "image/meta.h"

/* Adds "KEY=VALUE". */
must_check int meta_option_add(struct meta *meta, const char *text, struct error *err);
