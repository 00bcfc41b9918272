/* SPDX-License-Identifier: MIT */
/* Attributes of the kernel's devices: small text files of one value. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first line of DIRECTORY/NAME without blanks around it; false, and an empty text, when there is none. */
bool sysfs_text(const char *directory, const char *name, char *text, size_t size);
/* A number in decimal; false when there is none. */
bool sysfs_number(const char *directory, const char *name, int64_t *ret);
