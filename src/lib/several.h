/* SPDX-License-Identifier: MIT */
/* Volumes of several members that a daemon hands over, of which one may hang. */
#pragma once
#include "io/array.h"

/* Before anything of it is read: whether it is to be. */
must_check int several_take(struct array_source *volume, struct error *err);
