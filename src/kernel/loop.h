/* SPDX-License-Identifier: MIT */
/* Loop devices, loop(4): a file as a block device for as long as somebody has it open. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

struct loop {
	int fd; /* the device goes when this is closed and nothing is mounted of it any more */
	char path[32];
};

/* A read-only device of the open file, which is called name in losetup(8). is_direct: past the page cache, if the file
 * can be read so. */
must_check int loop_attach(int file, const char *name, bool is_direct, struct loop *ret, struct error *err);
void loop_close(struct loop *loop);
/* What is read ahead of who reads the device, and of a filesystem on it. */
must_check int loop_set_readahead(const struct loop *loop, unsigned kib, struct error *err);
