/* SPDX-License-Identifier: MIT */
/* Records of the mounts by the kernel, which have no process that could tell: a file that only root reads, named after
 * the id of the mount, which the kernel gives to no other one until the machine stops, and one with less for all. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/program/runtime.h"

#define MOUNT_RECORD_NAME   "kernel" /* for runtime_open() */
#define MOUNT_RECORD_FOLDER RUNTIME_FOLDER "/" MOUNT_RECORD_NAME
#define MOUNT_RECORD_SHOWN  RUNTIME_FOLDER "/shown" /* for all */

struct mount_record {
	/* For root alone: */
	char *options;     /* as -o takes them, with absolute paths */
	uint64_t seen;     /* the newest superblock that was read; 0: not known */
	uint64_t date;     /* of the version, as signed; 0: without trust= */
	char *pointed;     /* UUID of the version that was current when the mount last followed */
	uint64_t replaces; /* id of the mount that this one was put below, to replace it; 0: none */
	uint64_t first;    /* id of the mount from which switches led to this one; its own if there were none */
	/* For all; NULL or 0 is not known: */
	char *volume;      /* a path, or an identity (device/locate.h) */
	char *volume_uuid;
	char *label, *uuid, *digest; /* of the version */
	char *wanted;                /* label that the mount option version= gave, whatever the mount was switched to */
	uint64_t sequence;           /* of the version */
	uint64_t since;    /* seconds since the epoch: when the version was mounted */
	uint64_t switches; /* up to this version */
	char *members;     /* devices and what they had read by then, see device/activity.h */
	char *image;       /* name of its loop device; the number of the disk there (diskseq) tells its uses apart */
	uint64_t disk;
};

/* Finds the id of a mount: of the one that path leads to, or by AT_EMPTY_PATH of one that is open. -EOPNOTSUPP: the
 * kernel has none. */
must_check int mount_record_id(int fd, const char *path, uint64_t *ret, struct error *err);
/* Makes the folders of records, unless they are there. */
must_check int mount_record_folders(struct error *err);

/* Finds the number of the disk that is in a loop device now. */
must_check int mount_record_disk(const char *loop, uint64_t *ret, struct error *err);
bool mount_record_has_image(const struct mount_record *record); /* whether its image is still there */
bool mount_record_lost_image(const struct mount_record *record); /* whether it is gone; false also if sysfs fails */

/* There are two records of the mount with an id: its own, and one of its prepared replacement. */
enum mount_record_kind { MOUNT_RECORD_OWN, MOUNT_RECORD_PREPARED };
/* Writes a record in one step, in place of a former one. Needs the folders. */
must_check int mount_record_write(enum mount_record_kind kind, uint64_t id, const struct mount_record *record,
				  struct error *err);
/* Reads a record; it is for mount_record_free(). -ENOENT: there is none. */
must_check int mount_record_read(enum mount_record_kind kind, uint64_t id, struct mount_record *ret,
				 struct error *err);
/* Reads what all may know of a mount. */
must_check int mount_record_read_shown(uint64_t id, struct mount_record *ret, struct error *err);
void mount_record_free(struct mount_record *record); /* frees the contents */
void mount_record_remove(enum mount_record_kind kind, uint64_t id);
/* Gets each record, until visit returns something other than 0; returns that. */
typedef int (*mount_record_visit)(void *argument, enum mount_record_kind kind, uint64_t id,
				  struct mount_record *record);
int mount_record_each(mount_record_visit visit, void *argument);

#define auto_mount_record cleanup(mount_record_free)
