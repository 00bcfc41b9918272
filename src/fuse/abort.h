/* SPDX-License-Identifier: MIT */
/* The file by which the kernel aborts a FUSE connection. Open, it stays with its connection, so it cannot hit a later
 * one with the same number. */
#pragma once
#include "base/error.h"

/* Opens it for the filesystem with this minor device number; writing "1" there aborts. Root needs no fusectl to be
 * mounted; others can open what belongs to their own mounts. */
must_check int abort_open(unsigned device_minor, int *ret_fd, struct error *err);
