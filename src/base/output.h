/* SPDX-License-Identifier: MIT */
/* Standard output of a program. */
#pragma once
#include "base/error.h"

/* Before a program ends with success: a full disk or a closed pipe there must not look like it. */
must_check int output_flush(struct error *err);
