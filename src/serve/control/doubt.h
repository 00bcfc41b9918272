/* SPDX-License-Identifier: MIT */
/* A read failed for good: is what was mounted still on the volume? Looked at by the control thread, told in the log. */
#pragma once
#include "serve/serve.h"

/* When there was a doubt (generations_doubt()): reads the catalogue and says which versions were removed, lie
 * elsewhere, or went with a volume that was formatted anew. */
void doubt_settle(struct serve *serve);
