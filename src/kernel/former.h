/* SPDX-License-Identifier: MIT */
/* Checks what the kernel serves at a mountpoint already. */
#pragma once
#include "base/error.h"
#include "image/catalogue.h"

/* -EBUSY if it is a version of this catalogue: mounting a second one would only hide the first. */
must_check int former_check(const char *mountpoint, const struct catalogue *catalogue, struct error *err);
