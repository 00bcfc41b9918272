/* SPDX-License-Identifier: MIT */
/* Reads attributes of the kernel's devices, small text files with one value, and lists their folders. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define SYSFS_SECTOR 512u /* bytes: the unit of sizes and counters, whatever the blocks of the device are */

/* Reads the first line of DIRECTORY/NAME, without surrounding blanks. False, with empty text, if there is none. */
bool sysfs_text(const char *directory, const char *name, char *text, size_t size);
/* Reads a decimal number; false if there is none. */
bool sysfs_number(const char *directory, const char *name, int64_t *ret);
/* Reads the number of a block device, "MAJOR:MINOR" in its attribute dev; 0: there is none. */
dev_t sysfs_device(const char *directory);

/* Copies the name of a block device, such as "loop3", by which SYSFS_BLOCKS has its folder. False: there is none. */
#define SYSFS_BLOCKS    "/sys/class/block/"
#define SYSFS_NAME_SIZE 64u
bool sysfs_block_name(dev_t device, char ret[SYSFS_NAME_SIZE]);

/* Gets each entry of a folder; a result other than 0 ends the walk and is returned. */
typedef int (*sysfs_visit)(void *argument, const char *path, const char *name, struct error *err);
/* Visits a folder's entries in numeric order, so that nothing depends on the kernel's. A folder that is not there has
 * none. */
must_check int sysfs_each(const char *directory, sysfs_visit visit, void *argument, struct error *err);
