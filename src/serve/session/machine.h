/* SPDX-License-Identifier: MIT */
/* Chooses how requests arrive, how the volume is read, the number of workers, and the memory that they may use, from
 * the options and the machine. */
#pragma once
#include "serve/serve.h"

/* Sets serve->machine and worker_count. The volume must be open. */
must_check int machine_choose(struct serve *serve, struct error *err);
/* Chooses again without FUSE over io_uring, after the kernel did not offer it at INIT. The number of workers does not
 * grow, as the open version has readers for the former number. */
must_check int machine_lose_ring(struct serve *serve, struct error *err);
