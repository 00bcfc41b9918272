/* SPDX-License-Identifier: MIT */
/* The page of a mount that the kernel serves by itself. */
#pragma once
#include <stdbool.h>

#include "mounts/mounted.h"

void by_kernel_print(const struct mounted *mounted);
void by_kernel_json(const struct mounted *mounted);
