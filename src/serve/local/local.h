/* SPDX-License-Identifier: MIT */
/* The machine's own folder of a mount, of the option cache=. */
#pragma once
#include "serve/serve.h"

struct local;

/* Opens the folder, if the mount has one, and sets serve->local. A successor takes the descriptor of the former server;
 * without one it goes on without the folder. Call it before privileges are dropped and before a version is opened. */
must_check int local_open(struct serve *serve, struct error *err);
void local_free(struct local *local); /* NULL is allowed */
