/* SPDX-License-Identifier: MIT */
/* Owns the connection to a mount's daemon, and receives over it the version that a client may read past the mount. The
 * daemon is trusted when it runs as root or as the calling user; what it sends is checked all the same. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"
#include "client/client.h"
#include "client/state.h"
#include "io/array.h"
#include "opened/opened_version.h"

/* The address of a daemon: its socket, and its mount. */
struct link_place {
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t device;
	char root[PATH_MAX]; /* path of the mount's root, or of the folder, when it was found */
	/* Of a folder that is mounted without the mount's root: its id, and the version that has it; else 0. */
	uint64_t folder, sequence;
	uint8_t uuid[16];
};

struct link;
struct view;

/* A version as the daemon handed it over. */
struct link_version {
	struct opened_version opened; /* without an index, and empty, if the daemon has not opened the version */
	struct array_source *volume;
};

/* Asks the mount where its daemon is. mount: a descriptor of its root, or of the folder of it that is mounted alone.
 * -EOPNOTSUPP, with the daemon's reason: the
 * daemon has no socket. */
must_check int link_find(int mount, struct link_place *ret, struct error *err);
/* Asks the daemon for a version. sequence 0: the one that the mount serves; else the one with this sequence and uuid.
 * -EPERM: the caller may not have it. Passes the daemon's own reason on. */
must_check int link_open(const struct link_place *place, uint64_t sequence, const uint8_t *uuid, struct link **ret,
			 struct link_version *ret_version, struct error *err);
/* Closes what the structure holds, not the structure itself. */
void link_version_close(struct link_version *version);
/* NULL does nothing. */
void link_close(struct link *link);

const struct link_place *link_place(const struct link *link);
/* Whether the mount still serves this version and reads the same volume. Costs two loads. */
bool link_is_current(const struct link *link);
/* How much of the volume's devices the mount's readers may use, and how many processes share that now. */
void link_terms(const struct link *link, struct state_terms *ret);
uint32_t link_sharers(const struct link *link);
/* Returns the part of the machine's cache that the daemon lends (cache/view.h), to the first caller only; NULL: it
 * lends none, or another caller has it. The mount's next daemon lends it anew, so that its table goes on: costs a load
 * until then. */
struct view *link_take_view(struct link *link);
/* Whether the daemon still runs. Costs a load. */
bool link_lives(const struct link *link);
/* Whether the daemon still runs, or another one serves the same mount in its place, which this connects to; false: the
 * mount has ended. All that was handed over stays valid, and this version's key means the same to both, so nothing is
 * opened anew. May wait some seconds for the other one. Any thread. */
must_check bool link_goes_on(struct link *link);
/* Whether the daemon has opened the volume again, so that the descriptors that it sent before refer to a lost
 * device. */
bool link_has_moved(const struct link *link);
/* Reports to the daemon the reads and failures since the last report, and the hits in a lent view (NULL: there is
 * none). False: the daemon has ended, and the next one may be told later. A report that cannot be sent is lost. */
bool link_report(const struct link *link, const uint64_t counts[CLIENT_COUNTS], struct view *view);
