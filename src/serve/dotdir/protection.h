/* SPDX-License-Identifier: MIT */
/* How well the version that is served is protected by copies, and how well it is now. */
#pragma once
#include "base/json.h"
#include "serve/serve.h"

/* An object; null for a volume of one member. */
void protection_write(struct serve *serve, struct json *json);
