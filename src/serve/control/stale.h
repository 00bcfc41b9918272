/* SPDX-License-Identifier: MIT */
/* A read failed for good: is what was mounted still on the volume? Looked at by the control thread, told in the log. */
#pragma once
#include "serve/serve.h"

/* For versions that may be stale (generations_mark_stale()): reads the catalogue and says which versions were
 * removed, lie elsewhere, or went with a volume that was formatted anew. */
void stale_settle(struct serve *serve);
