/* SPDX-License-Identifier: MIT */
/* Versions that were removed from the volume, or moved on it, while the mount serves them: the control thread logs what
 * became of them. After a read has failed for good it looks at once. */
#pragma once
#include "serve/serve.h"

/* For versions that may be stale (generations_mark_stale()) it reads the catalogue. Says which versions were removed,
 * lie elsewhere, or went with a volume that was reformatted, and takes their damage from the list. */
void stale_settle(struct serve *serve);
/* Any thread that may use the served version: "removed", "moved" by compaction or "reformatted"; NULL: the version is
 * on the volume, or the mount is about to follow it. */
const char *stale_word(struct serve *serve);
