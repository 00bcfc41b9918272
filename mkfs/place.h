/* SPDX-License-Identifier: MIT */
/* An open directory of the source, shared by all who still work on its entries. */
#pragma once
#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"

struct place {
	atomic_uint holders;
	int fd;
	char path[]; /* relative to the source; "" is the source itself */
};

/* Opens path step by step, so it may be of any length, and never through a symlink. */
must_check int place_open(int source_fd, const char *path, struct place **ret, struct error *err);
struct place *place_hold(struct place *place);
void place_release(struct place *place);
/* "dir/name", for messages and filters. The caller frees it; NULL without memory. */
char *place_join(const char *directory, const char *name);
