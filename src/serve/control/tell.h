/* SPDX-License-Identifier: MIT */
/* Names that the kernel shall forget before a switch returns, for kernels without epochs. */
#pragma once
#include "serve/version/generation.h"

/* Every name of either root: it may be remembered as what it was, or as absent. fd: the mount's. */
must_check int tell_names(int fd, struct generation *old, struct generation *new, struct error *err);
