/* SPDX-License-Identifier: MIT */
/* Makes the kernel forget the old version's names, and its cache of the root, before a switch returns. */
#pragma once
#include "serve/serve.h"

/* Announces a switch from `old` to `new`. On success the kernel remembers no name of the old version, and no reply that
 * would give it one is on its way. Control thread only. */
must_check int announce_switch(struct serve *serve, struct generation *old, struct generation *new, struct error *err);
