/* SPDX-License-Identifier: MIT */
/* After a read has failed for good, the control thread checks whether the version is still on the volume, and logs
 * what became of it. */
#pragma once
#include "serve/serve.h"

/* For versions that may be stale (generations_mark_stale()): reads the catalogue and says which versions were
 * removed, lie elsewhere, or went with a volume that was reformatted. */
void stale_settle(struct serve *serve);
