/* SPDX-License-Identifier: MIT */
/* Standard output of a program. */
#pragma once
#include "base/error.h"

/* Flushes standard output before the program ends, so that a full disk or a closed pipe does not look like success. */
must_check int output_flush(struct error *err);
