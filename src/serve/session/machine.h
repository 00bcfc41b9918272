/* SPDX-License-Identifier: MIT */
/* What the machine offers and the options ask for: how requests arrive, how the volume is read, the number of
 * workers, and the memory that they may use. */
#pragma once
#include "serve/serve.h"

/* Sets what struct serve has of it. The volume is open. */
must_check int machine_choose(struct serve *serve, struct error *err);
/* The switch was moved after our look at it. The version is open by now, with readers for as many workers as there
 * were to be. */
must_check int machine_lose_ring(struct serve *serve, struct error *err);
