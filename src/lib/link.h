/* SPDX-License-Identifier: MIT */
/* What the daemon of a mount gives to a client that may read past it, and the connection by which it says so. The
 * daemon is trusted when it runs as root or as the calling user; what it sends is checked all the same. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"
#include "handover/handover.h"
#include "image/block_sums.h"
#include "image/index.h"
#include "image/version.h"
#include "io/array.h"

/* Which daemon: its socket, and its mount. */
struct link_place {
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t device;
	char root[PATH_MAX]; /* of the mount, when it was found */
};

struct link;

/* One version, handed over. */
struct link_version {
	struct version version;
	struct index *index; /* NULL: it is not open there, and version says nothing */
	uint32_t hidden_mode;
	struct array_source *volume;
	bool has_block_sums; /* they came, if it has any; else they are read from the volume */
	struct block_sums *block_sums;
};

/* Reads MNT/.datasetfs/client of the mount whose root is open as mount. -EOPNOTSUPP: it has no socket, and why. */
must_check int link_find(int mount, struct link_place *ret, struct error *err);
/* sequence 0: the version that the mount serves; else this one, with its uuid. -EPERM: the caller may not have it. The
 * daemon's own reason is passed on. */
must_check int link_open(const struct link_place *place, uint64_t sequence, const uint8_t *uuid, struct link **ret,
			 struct link_version *ret_version, struct error *err);
/* What is in it. */
void link_version_close(struct link_version *version);
/* NULL as well. */
void link_close(struct link *link);

const struct link_place *link_place(const struct link *link);
/* Whether the version is still the one that the mount serves, and the volume the one that it reads. Two loads. */
bool link_is_current(const struct link *link);
/* Whether the daemon runs. */
bool link_lives(const struct link *link);
/* Whether it opened the volume again since: its descriptor here leads to what was lost. */
bool link_has_moved(const struct link *link);
/* Tells the daemon what was read and found since the last time; what cannot be told is lost. */
void link_report(const struct link *link, const uint64_t counts[HANDOVER_COUNTS]);
