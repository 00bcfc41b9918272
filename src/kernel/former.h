/* SPDX-License-Identifier: MIT */
/* What the kernel serves at a mountpoint already. */
#pragma once
#include "base/error.h"
#include "image/catalogue.h"

/* -EBUSY when it is a version of this catalogue: a second one would only hide the first. */
must_check int former_check(const char *mountpoint, const struct catalogue *catalogue, struct error *err);
