/* SPDX-License-Identifier: MIT */
/* Reads a file that decides what is trusted: only root and the caller's user may be able to change it. */
#pragma once
#include "base/error.h"
#include "base/span.h"

#define TRUST_FILE_MAX (1u << 20) /* bytes */

/* Reads the file; ret->base is for free(3). -EPERM: others may write it, or replace it in its folder or above. */
must_check int trust_file_read(const char *path, struct span *ret, struct error *err);
