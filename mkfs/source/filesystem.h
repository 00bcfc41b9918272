/* SPDX-License-Identifier: MIT */
/* Identifies the filesystem of the source, and decides whether its ctimes say when a file changed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/sums/sha256.h"

#define FILESYSTEM_TYPE_SIZE 32u

struct filesystem {
	uint64_t device;                 /* as in struct attributes; 0: not looked at yet */
	char type[FILESYSTEM_TYPE_SIZE]; /* as the table of mounts names it, "" if it is not there */
	bool keeps_ctimes;    /* the kernel or a server sets them at each change, and it can be told from others */
	bool has_fine_ctimes; /* of nanoseconds: one of whole seconds comes from a program that made an image */
	uint8_t identity[SHA256_SIZE]; /* the same whenever this filesystem is mounted; only if keeps_ctimes */
};

/* Looks at the filesystem of the open file, which lies on the device. If anything about it cannot be found out, it does
 * not keep ctimes. */
void filesystem_find(int fd, uint64_t device, struct filesystem *ret);
