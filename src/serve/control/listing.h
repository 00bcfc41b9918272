/* SPDX-License-Identifier: MIT */
/* Makes the kernel forget a listing of .datasetfs/versions soon after it was answered. */
#pragma once
#include "serve/serve.h"

/* Notes that a listing of .datasetfs/versions was answered, and wakes the control thread. Any thread may call this. */
void listing_answered(struct serve *serve);
/* Makes the kernel forget the listing if that is due. Returns when to call it again, ns, monotonic; 0: when woken.
 * Control thread only. */
int64_t listing_settle(struct serve *serve);
