/* SPDX-License-Identifier: MIT */
/* A read failed for good: is what was mounted still on the volume? Looked at by the control thread, told in the log. */
#pragma once
#include "serve/serve.h"

/* By any worker, in a section or with a use of the generation. */
void doubt_raise(struct serve *serve, struct generation *generation);
/* Reads the catalogue when a doubt was raised, and says which versions were removed, lie elsewhere, or went with a volume
 * that was formatted anew. */
void doubt_settle(struct serve *serve);
