/* SPDX-License-Identifier: MIT */
/* Describes a version to programs: the fields that MNT/.datasetfs/version has without those of the volume. */
#pragma once
#include "base/text/json.h"
#include "image/catalogue/version.h"

void version_json(const struct version *version, struct json *json); /* into an object that has begun */
