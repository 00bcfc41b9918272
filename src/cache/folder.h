/* SPDX-License-Identifier: MIT */
/* The folder in which a machine keeps copies of volumes' data, and the folders of volumes in it:
 *
 *   DIR/format              which layout the rest has
 *   DIR/VOLUME-UUID/index/  copies of indexes, see copy.h
 *   DIR/VOLUME-UUID/mounts/ the mounts that use it now, see mount_links.h
 *
 * Its owner's processes share it, and no other user may write there. All of it can be lost or wrong at any time:
 * readers check it against the volume's own sums. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define FOLDER_FORMAT 1u
#define FOLDER_INDEX  "index" /* in the folder of a volume, as the next one */
#define FOLDER_MOUNTS "mounts"

/* How much room the filesystem of a folder or file has, in bytes. */
struct folder_room {
	uint64_t size, left;
	uint64_t takes; /* limit of writes: 1 / FOLDER_SPARE of the size stays free */
};
#define FOLDER_SPARE 10u

must_check int folder_room(int fd, struct folder_room *ret, struct error *err);

enum folder_note {
	FOLDER_UNNOTED, /* it is new */
	FOLDER_NOTED,
	FOLDER_DAMAGED, /* the next folder_make_volume() writes the note anew */
};

/* Opens the folder for the daemon of a mount. The error says in a line why it cannot be one: others may write it, it is
 * on a network filesystem, or has another format. The last part of the path must be no link. */
must_check int folder_open(const char *path, int *ret, enum folder_note *ret_note, struct error *err);
/* Opens the folder to list it, whoever its owner is. -ENOENT: there is none, or no mount has used it. */
must_check int folder_look(const char *path, int *ret, struct error *err);
/* Opens the folder of a volume. -ENOENT: there is none. */
must_check int folder_volume(int folder, const uint8_t uuid[16], int *ret, struct error *err);
/* The same, and makes missing parts. */
must_check int folder_make_volume(int folder, const uint8_t uuid[16], int *ret, struct error *err);

/* Opens a folder in a folder. -ENOENT: there is none. */
must_check int folder_enter(int folder, const char *name, int *ret, struct error *err);
must_check int folder_make(int folder, const char *name, int *ret, struct error *err);
/* Opens a regular file, with these flags, and never waits: it may be a FIFO. -EBADMSG: it is none. */
must_check int folder_open_file(int folder, const char *name, int flags, int *ret, struct error *err);
/* Flushes a file and gives it its name: after a power loss that names all of it, or what it named before. */
must_check int folder_publish(int folder, int fd, const char *draft, const char *name, struct error *err);
/* Opens a file of this name that the caller alone may change until it closes it, and makes it if there is none.
 * -EWOULDBLOCK: another process has it. */
must_check int folder_lock(int folder, const char *name, int *ret, struct error *err);
/* Calls each for all names in a folder, which it may remove, until it fails. */
must_check int folder_each(int folder, int (*each)(void *argument, int folder, const char *name, struct error *err),
			   void *argument, struct error *err);
/* Calls each for the folders of all volumes, with the UUID that it is called by, until it fails. */
must_check int folder_each_volume(int folder, int (*each)(void *argument, const uint8_t uuid[16], int volume,
							   struct error *err), void *argument, struct error *err);
/* Removes the folder of a volume, if nothing is in it any more. */
void folder_remove_volume(int folder, const uint8_t uuid[16]);
