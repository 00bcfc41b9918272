/* SPDX-License-Identifier: MIT */
/* Beneath a directory where there is no openat2(2): before Linux 5.6, and where a filter of system calls refuses it. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* As beneath_open(); a descriptor, or a negative errno. */
must_check int beneath_steps_open(int root, const char *path, int flags, bool follow);
