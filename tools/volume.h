/* SPDX-License-Identifier: MIT */
/* Opens a volume for reading, by its own path or through a mount of it, and begins changes to it. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "image/catalogue/catalogue.h"
#include "image/members/backing.h"
#include "io/array.h"
#include "mounts/reported.h"
#include "volume/transaction/transaction.h"

struct volume {
	char *path;                   /* of the file or device; if there are several, the name that the user gave */
	char *mount;                  /* mountpoint by which it was found; NULL: it was not found by a daemon's mount */
	char *label;                  /* of the version, if it was found by a mount that the kernel serves; else NULL */
	struct reported_version served; /* the version of that mount; zero: there is none, or it does not answer */
	struct array_source *array;
	char **names;                 /* paths of its members */
	char **whys;                  /* why each is missing or stale; NULL: it is not */
	struct superblock_ring *rings; /* of its members, as read last */
	struct superblock super;
	struct catalogue catalogue;
};

/* Opens the files or devices read-only, without loading the catalogue. name: a volume, or a path on a mount of one. */
must_check int volume_open(const char *name, struct volume **ret, struct error *err);
/* Locks, loads and checks the volume for a change. The change applies to the files that were opened, even if their
 * names lead to other files by now. -ESTALE: the volume was found by a mount, but is not that mount's. */
must_check int volume_transaction(const struct volume *volume, enum degraded degraded,
				  struct transaction *ret, struct error *err);
/* Locks and loads the volume like volume_transaction(), but leaves transaction_check() to the caller. leaving and
 * preempt: as in struct transaction_setup. */
must_check int volume_begin(const struct volume *volume, uint32_t leaving, bool preempt, struct transaction *ret,
			    struct error *err);
/* Sets the time that a read of a single member may take; those of several always have FILE_PATIENCE. FILE_WAITS: it may
 * take any time in a thread of its own, so several are made at once. 0: it is made by the thread that wants it. */
void volume_set_patience(struct volume *volume, int64_t ns);
/* Loads superblock and catalogue, with FILE_WAITS as the volume was opened, and sets the patience to 0. */
must_check int volume_load(struct volume *volume, struct error *err);
/* Opens the volume and loads superblock and catalogue. */
must_check int volume_open_loaded(const char *name, struct volume **ret, struct error *err);
void volume_close(struct volume *volume);
/* Paces reads of the volume's, or its transaction's, members from now on: they give way to others, and read at most
 * bandwidth bytes a second if that is not 0. */
must_check int volume_pace(struct array_source *array, uint64_t bandwidth, struct error *err);

/* Returns the sources from which the volume's sections are read; valid as long as the loaded catalogue. */
struct backing volume_backing(const struct volume *volume);

/* Finds the version called label in a catalogue. */
must_check int volume_find(const struct catalogue *catalogue, const char *label, struct version **ret,
			   struct error *err);
/* Finds the version called label, or by the beginning of its digest, see catalogue_select(); if label is NULL, the
 * version that the mount serves, or the current one. */
must_check int volume_version(const struct volume *volume, const char *label, const struct version **ret,
			      struct error *err);

static inline void volume_close_ptr(struct volume **volume)
{
	volume_close(*volume);
}
#define auto_volume cleanup(volume_close_ptr)
