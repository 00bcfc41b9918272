/* SPDX-License-Identifier: MIT */
/* Finds mounts of this machine that a change of the volume would deprive of the version that they serve. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/json.h"
#include "image/catalogue/catalogue.h"
#include "mounts/watch.h"
#include "volume.h"

struct served_mount {
	bool is_certain;   /* its volume is this one, whether it answers or not */
	bool is_concerned; /* it would lose the version that it serves */
	bool is_told;      /* a log line said that it is concerned */
};

struct served {
	struct watch watch; /* the mounts that have this volume, or may have it */
	struct served_mount *mounts; /* one for each of watch */
	uint8_t volume_uuid[16];
};

/* Asks the mounts whose volume may be this one, in processes of their own, and gives each some seconds to answer. */
must_check int served_open(const struct volume *volume, const uint8_t volume_uuid[16], struct served *ret,
			   struct error *err);
void served_close(struct served *served); /* accepts a zeroed one */

/* Marks mounts that serve the version with this sequence. Mounts that follow the current version are marked only if
 * and_followers is set. A mount of the volume that does not answer is marked, too. */
void served_concern(struct served *served, uint64_t sequence, bool and_followers);
/* Marks mounts that serve a version which is not on the volume any more. */
void served_concern_gone(struct served *served, const struct catalogue *catalogue);
/* Marks all mounts of the volume. Returns how many are marked. */
size_t served_concern_all(struct served *served);
/* Logs a line for each marked mount, once. -EBUSY if there is one, unless force is set. remedy: advice to the user. */
must_check int served_refuse(const struct served *served, bool force, const char *remedy, struct error *err);
/* Prints the mountpoints of marked mounts, as an array "mounts". */
void served_json(const struct served *served, struct json *json);
/* Warns about mounts on other hosts, and says how to find them. label and sequence: of the version; NULL and 0: any. */
void served_warn(const struct served *served, const char *label, uint64_t sequence);
