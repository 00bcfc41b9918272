/* SPDX-License-Identifier: MIT */
/* A volume opened for reading: by its own path, or through a mount of it. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "image/catalogue.h"
#include "io/array.h"
#include "reported.h"
#include "volume/transaction.h"

struct volume {
	char *path;                   /* of the file or device; of several, as they were named */
	char *mount;                  /* the mountpoint it was found by, NULL when it was named itself, */
	char *label;                  /* or by a mount that the kernel serves: of its version */
	struct reported_version served; /* by that mount; zero when there is none or it does not answer */
	struct array_source *array;
	char **names;                 /* paths of its members */
	char **whys;                  /* why they are missing or stale; NULL: they are not */
	struct superblock_ring *rings; /* of its members, as they were read last */
	struct superblock super;
	struct catalogue catalogue;
};

/* Opens the file or device read-only and looks at nothing in it yet. name: a volume, or something on a mount.
 */
must_check int volume_open(const char *name, struct volume **ret, struct error *err);
/* For a change: what was opened, not what has its name by now. By a mount only that mount's volume is changed. */
must_check int volume_transaction(const struct volume *volume, enum degraded degraded,
				  struct transaction *ret, struct error *err);
/* The same before transaction_check(), for who has more to say: loaded. leaving: as for transaction_open(). */
must_check int volume_begin(const struct volume *volume, uint32_t leaving, bool preempt, struct transaction *ret,
			    struct error *err);
/* Superblock and catalogue. */
must_check int volume_load(struct volume *volume, struct error *err);
/* Both in one. */
must_check int volume_open_loaded(const char *name, struct volume **ret, struct error *err);
void volume_close(struct volume *volume);

/* The version called label in any catalogue of a volume. */
must_check int volume_find(const struct catalogue *catalogue, const char *label, struct version **ret,
			   struct error *err);
/* The version called label; without one, the version that the mount serves, or the current one. */
must_check int volume_version(const struct volume *volume, const char *label, const struct version **ret,
			      struct error *err);

static inline void volume_close_ptr(struct volume **volume)
{
	volume_close(*volume);
}
#define auto_volume cleanup(volume_close_ptr)
