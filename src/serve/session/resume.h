/* SPDX-License-Identifier: MIT */
/* The first work of a successor's control thread: it goes on where the former server stopped. */
#pragma once
#include "serve/serve.h"

/* Queues that for the control thread, which must run, before workers do. Requests are answered meanwhile, as the kernel
 * may wait for them. Without a former server does nothing. */
must_check int resume_start(struct serve *serve, struct error *err);
