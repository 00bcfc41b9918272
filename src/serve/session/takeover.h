/* SPDX-License-Identifier: MIT */
/* Takes over from the former server: src/supervisor/README.md has the order. */
#pragma once
#include "fuse/init.h"
#include "fuse/mount.h"
#include "serve/serve.h"

/* Opens the versions that the former server had open, from memory, and sets which are current, announced, prepared. */
must_check int takeover_versions(struct serve *serve, struct error *err);
/* Takes over the mount and what INIT agreed on. Does not touch the mountpoint, which waits for this server. */
must_check int takeover_mount(struct serve *serve, struct mount **ret, struct init *ret_init, struct error *err);
