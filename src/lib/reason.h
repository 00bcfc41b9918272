/* SPDX-License-Identifier: MIT */
/* Why the last call of a thread failed. */
#pragma once
#include "base/error.h"

/* Where this thread's call writes its reason; empty. */
struct error *reason_begin(void);
