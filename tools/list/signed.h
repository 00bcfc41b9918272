/* SPDX-License-Identifier: MIT */
/* Shows the signatures of a version as they lie on the volume. Nothing is checked: every writer of the volume may have
 * put them there. */
#pragma once
#include "base/text/json.h"
#include "image/catalogue/version.h"

#define SIGNED_TEXT_SIZE 48

/* Writes an array of an object for each signature. */
void signed_json(struct json *json, const char *key, const struct version *version);
/* Formats the first key's fingerprint, shortened, and how many signatures follow; "-": there is none. */
const char *signed_text(const struct version *version, char text[SIGNED_TEXT_SIZE]);
