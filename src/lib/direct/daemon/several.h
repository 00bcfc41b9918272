/* SPDX-License-Identifier: MIT */
/* Decides whether a volume of several members that a daemon handed over is used: one of them may hang. */
#pragma once
#include "io/array.h"

/* Accepts the volume and prepares it for use, or refuses it with -EOPNOTSUPP. Must be called before anything is read
 * from it. */
must_check int several_take(struct array_source *volume, struct error *err);
