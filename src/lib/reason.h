/* SPDX-License-Identifier: MIT */
/* Owns the reason of each thread's last failed call. */
#pragma once
#include "base/error.h"

/* Empties this thread's reason, and returns where its call writes a new one. */
struct error *reason_begin(void);
