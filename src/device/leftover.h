/* SPDX-License-Identifier: MIT */
/* Mounts whose daemon was killed: the kernel keeps them, and answers what it does not remember with ENOTCONN. */
#pragma once
#include <sys/stat.h>

#include "base/error.h"

/* For a failure with this errno on path: what to do when it comes from such a mount, else the errno's text; -code. */
must_check int leftover_error(int code, const char *path, struct error *err);
/* Type, mode and device of path, for which its server is asked: of a dead mount the kernel may remember them. */
must_check int leftover_stat(const char *path, struct stat *ret, struct error *err);
