/* SPDX-License-Identifier: MIT */
/* A recorded sysfs as files, laid out from tests/lib/nvme.sysfs. */
#pragma once

/* Where it is laid out, by sysfs_tree(). */
extern char sysfs_root[];

/* Set-up and tear-down of a group of tests. */
int sysfs_tree(void **state);
int sysfs_remove(void **state);
/* Adds what a file of tests/lib has. */
void sysfs_add(const char *name);
/* Writes an attribute below class/nvme-subsystem; value "-> TARGET": a link. */
void sysfs_write(const char *attribute, const char *value);
/* Removes an attribute or a link. */
void sysfs_drop(const char *attribute);
