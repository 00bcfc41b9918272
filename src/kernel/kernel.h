/* SPDX-License-Identifier: MIT */
/* A mount that the kernel serves by itself: no daemon stays. */
#pragma once
#include "serve/serve.h"

/* Uses only the options volume, mountpoint, version, digest, noexec and suid. is_rehearsed: checks everything, mounts
 * nothing. */
must_check int kernel_mount(const struct serve_options *options, bool is_rehearsed, struct error *err);
