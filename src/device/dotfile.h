/* SPDX-License-Identifier: MIT */
/* Opens files of MNT/.datasetfs. Any user can mount a filesystem that calls itself datasetfs: no link in it leads a
 * program of root out of it, and no FIFO makes one wait. */
#pragma once
#include "base/error.h"

/* mount: a mountpoint; name: "stats.json". For reading. */
must_check int dotfile_open(const char *mount, const char *name, int *ret, struct error *err);
