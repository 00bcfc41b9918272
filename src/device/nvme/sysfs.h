/* SPDX-License-Identifier: MIT */
/* Reads attributes of the kernel's devices: small text files with one value. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the first line of DIRECTORY/NAME, without surrounding blanks. False, with empty text, if there is none. */
bool sysfs_text(const char *directory, const char *name, char *text, size_t size);
/* Reads a decimal number; false if there is none. */
bool sysfs_number(const char *directory, const char *name, int64_t *ret);
