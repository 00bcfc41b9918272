/* SPDX-License-Identifier: MIT */
/* Switches a mount that the kernel serves to another version. */
#pragma once
#include "base/error.h"
#include "datasetfs/control.h"
#include "device/mount_record.h"
#include "image/catalogue/catalogue.h"

/* Does with the mount on which path lies what a daemon does for the same command, DSFS_IOC_SWITCH; only label,
 * if_current and the flag DSFS_SWITCH_PREPARE are taken. options: the mount options as -o takes them, if their record
 * is lost; else NULL. Every error leaves the mount as it was. Waits for other switches of it. */
must_check int kernel_switch(const char *path, const char *options, struct dsfs_switch *command, struct error *err);

/* Switches the mount that began as the one with the id first to what it has to follow, if there is that, and never to a
 * version with an older date. The label in *ret is "" if nothing was switched. -ENOENT: another mount is there. */
must_check int kernel_switch_follow(const char *path, uint64_t first, struct dsfs_switch *ret, struct error *err);
/* Finds the version that a mount which follows has to show: the volume's current one, if it has just become that, so
 * that a switch by hand is not undone; otherwise the one that it shows, if compaction moved it. NULL: it shows it. */
const struct version *kernel_switch_goal(const struct catalogue *catalogue, const struct mount_record *record);
/* Checks that the volume is that of the record, and not older. */
must_check int kernel_switch_check_volume(const struct mount_record *record, const struct superblock *super,
					  struct error *err);
