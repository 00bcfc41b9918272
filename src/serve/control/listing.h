/* SPDX-License-Identifier: MIT */
/* Makes the kernel forget a listing of .datasetfs/versions soon after it was answered. */
#pragma once
#include "serve/serve.h"

/* Any thread. */
void listing_answered(struct serve *serve);
/* The control thread's: makes the kernel forget it when that is due. Returns when to call it again, ns, monotonic; 0:
 * when woken. */
int64_t listing_settle(struct serve *serve);
