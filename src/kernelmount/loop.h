/* SPDX-License-Identifier: MIT */
/* Loop devices, loop(4): each makes a file a block device for as long as the device is open. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

struct loop {
	int fd; /* the device disappears when this is closed and it is mounted nowhere */
	char path[32];
};
#define LOOP_NONE ((struct loop){ .fd = -1 })

/* Makes a read-only loop device of the open file; losetup(8) shows it as name. is_direct: bypasses the page cache,
 * if the file allows that. */
must_check int loop_set_up(int file, const char *name, bool is_direct, struct loop *ret, struct error *err);
void loop_close(struct loop *loop);
/* Opens the loop device of this name, "loop3", once more. */
must_check int loop_open(const char *name, struct loop *ret, struct error *err);
/* Makes the device stay, or not stay, when nobody has it open or mounted. */
must_check int loop_set_stay(const struct loop *loop, bool stays, struct error *err);
const char *loop_name(const struct loop *loop); /* "loop3" */
/* Sets the read-ahead of the device and of a filesystem mounted from it. */
must_check int loop_set_readahead(const struct loop *loop, unsigned kib, struct error *err);
