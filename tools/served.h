/* SPDX-License-Identifier: MIT */
/* Mounts of this machine that serve versions of a volume which a change takes away. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "image/catalogue.h"
#include "top/watch.h"
#include "volume.h"

struct served_mount {
	bool is_certain;   /* its volume is this one, whether it answers or not */
	bool is_concerned; /* it would lose what it serves, */
	bool is_told;      /* and a line said so */
};

struct served {
	struct watch watch; /* those that have this volume, or perhaps */
	struct served_mount *mounts; /* as many */
	uint8_t volume_uuid[16];
};

/* Asks the mounts whose volume may be this one, in processes of their own, and gives each some seconds to answer. */
must_check int served_open(const struct volume *volume, const uint8_t volume_uuid[16], struct served *ret,
			   struct error *err);
void served_close(struct served *served); /* a zeroed one as well */

/* Finds those that serve the version with this sequence; unless and_followers, without those that follow. A mount of
 * the volume that does not say what it serves counts too. */
void served_concern(struct served *served, uint64_t sequence, bool and_followers);
/* Finds those that serve a version which is not on the volume any more. */
void served_concern_gone(struct served *served, const struct catalogue *catalogue);
/* Logs a line for each that was found, once. -EBUSY when there is one, with what to do about it; force: not then. */
must_check int served_refuse(const struct served *served, bool force, const char *remedy, struct error *err);
/* Their mountpoints, as an array "mounts". */
void served_json(const struct served *served, struct json *json);
/* Says on which other hosts they could be found. sequence: 0: of any version of the volume. */
void served_warn(const struct served *served, uint64_t sequence);
