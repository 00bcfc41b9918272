/* SPDX-License-Identifier: MIT */
/* What stat(2) and readlink(2) say, from the index. */
#pragma once
#include "lib/lib.h"

/* As way->stat. By id only: no directory is asked for permission. */
must_check int attributes_stat(struct opened *opened, uint64_t id, struct stat *ret, struct error *err);
/* As way->readlink. */
must_check int attributes_readlink(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err);
