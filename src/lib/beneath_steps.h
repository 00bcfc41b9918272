/* SPDX-License-Identifier: MIT */
/* Replaces openat2(2) where it is missing: before Linux 5.6, and where a seccomp filter refuses it. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* Takes the arguments of beneath_open(); returns a descriptor or a negative errno. */
must_check int beneath_steps_open(int root, const char *path, int flags, bool follow);
