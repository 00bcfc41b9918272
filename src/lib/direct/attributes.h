/* SPDX-License-Identifier: MIT */
/* Answers stat(2) and readlink(2) from the index. */
#pragma once
#include "lib/lib.h"

/* Implements backend->stat. It takes an id, so it checks no directory's permissions. */
must_check int attributes_stat(struct opened *opened, uint64_t id, struct stat *ret, struct error *err);
/* Implements backend->readlink. */
must_check int attributes_readlink(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err);
