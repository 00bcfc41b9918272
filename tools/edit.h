/* SPDX-License-Identifier: MIT */
/* A volume whose catalogue is changed: under the publisher's lock, written as a publish writes it. */
#pragma once
#include "device/fence.h"
#include "io/file.h"
#include "volume.h"
#include "volume/commit.h"
#include "volume/signals.h"

struct edit {
	const char *path;
	struct file_source *file;
	struct source *source;      /* all that is written; a test may put its own around it */
	struct superblock super;
	struct catalogue catalogue; /* to be changed */
	struct space space;         /* free under the catalogue in force */
	struct commit commit;
	uint64_t former_size;       /* of a file, before the first write */
	bool begun, done;
	struct fence fence;
	sigset_t signals;           /* as they were before the fence was raised; valid while it is */
};

/* Locks the volume; writes nothing. -EBUSY names who has the lock. */
must_check int edit_open(const struct volume *volume, struct edit *ret, struct error *err);
/* Bytes that a publish could use without the volume growing, as seen from the catalogue in force. */
must_check int edit_free(const struct edit *edit, uint64_t *ret, struct error *err);
/* By how much that has grown, after the commit; 0, and a line in the log, when it cannot be found out. */
uint64_t edit_gained(const struct edit *edit, uint64_t before);
/* What can be written: of a file as much as it has blocks for and as its filesystem has left. */
must_check int edit_room(const struct edit *edit, uint64_t *ret, struct error *err);
/* Whether what is in force is still what was opened: no commit came as far as the superblock slot. */
bool edit_can_start_over(const struct edit *edit);
/* Then: takes back what was changed in the catalogue, taken from the space, and what a file grew by. */
must_check int edit_start_over(struct edit *edit, struct error *err);
/* Says in the publisher record that the volume is being changed: before the first write. */
must_check int edit_begin(struct edit *edit, struct error *err);
/* Begins, unless that was done; the changed catalogue is in force when it returns 0. */
must_check int edit_commit(struct edit *edit, struct error *err);
/* Of a file, after the commit: what is free becomes a hole. */
must_check int edit_give_back(const struct edit *edit, uint64_t *ret_bytes, struct error *err);
/* What was not committed is put back. */
void edit_close(struct edit *edit);
