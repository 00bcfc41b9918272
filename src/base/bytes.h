/* SPDX-License-Identifier: MIT */
/* Tests on a range of bytes in memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

bool bytes_are_zero(const void *bytes, size_t length);
