/* SPDX-License-Identifier: MIT */
/* The volume of a mount, from its name or from the server that served it before. */
#pragma once
#include "serve/serve.h"

/* Opens the members that are found by options.volume. */
must_check int volume_open(struct serve *serve, struct error *err);
/* Takes over the members that the former server had open. Reads no device. */
must_check int volume_adopt(struct serve *serve, struct error *err);
