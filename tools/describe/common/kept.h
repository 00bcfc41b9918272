/* SPDX-License-Identifier: MIT */
/* Tells what this machine keeps of the volume, for a mount with the option cache=. */
#pragma once
#include "base/text/json.h"
#include "volume.h"

/* Both ask the mount by which the volume was found. Without one, or without a cache, the first prints nothing, and the
 * second null. */
void kept_text(const struct volume *volume);
void kept_json(const struct volume *volume, struct json *json);
