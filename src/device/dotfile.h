/* SPDX-License-Identifier: MIT */
/* Opens files of MNT/.datasetfs. Any user can mount a filesystem that calls itself datasetfs, so no link in it may
 * lead root's programs out of it and no FIFO may block them. */
#pragma once
#include "base/error.h"

/* Opens a file such as "stats.json" below a mountpoint for reading. */
must_check int dotfile_open(const char *mount, const char *name, int *ret, struct error *err);
