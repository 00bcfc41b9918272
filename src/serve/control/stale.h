/* SPDX-License-Identifier: MIT */
/* Reports versions that were removed from the volume, or moved on it, while the mount serves them. The check runs at
 * once after a read has failed for good. */
#pragma once
#include "serve/serve.h"

/* Looks in the catalogue for the versions that generations_mark_stale() noted. Logs which were removed or moved, or
 * lost because the volume was reformatted, and removes their damage from the list. Control thread only. */
void stale_settle(struct serve *serve);
/* The fate of the served version: "removed", "moved" (by compaction) or "reformatted". NULL: it is on the volume, or
 * the mount is about to follow it. Call it in a section, or on the control thread. */
const char *stale_word(struct serve *serve);
