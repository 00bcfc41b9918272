/* SPDX-License-Identifier: MIT */
/* The consumers of shared mounts, as the kernel's table of mounts has them: nothing else is kept about them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/key.h"

enum use_kind {
	USE_PLACE, /* a mount elsewhere: a consumer's place, or any other mount of datasetfs */
	USE_MOUNT, /* the shared mount itself: KEY/NUMBER/mount */
	USE_KEPT,  /* the bind of it: KEY/NUMBER/kept */
	USE_HOLD,  /* for consumers in another mount namespace: KEY/NUMBER/users/NAMESPACE */
	USE_COPY,  /* a copy of one of the three before, as in a root directory for chroot(2) */
};

struct use {
	enum use_kind kind;
	bool is_part; /* a directory in it is mounted, or another version: attach does not do that */
	bool is_kernels; /* the kernel serves it, no daemon */
	dev_t device;
	char *point, *source;
	char key[KEY_NAME_SIZE]; /* unless it is a USE_PLACE, as the next one */
	unsigned number;
	uint64_t namespace; /* of a USE_HOLD */
};

struct uses {
	struct use *items; /* in the order of the table */
	size_t count;
};

/* Reads the table of the mount namespace that the process is in: all mounts of volumes. */
must_check int uses_read(struct uses *ret, struct error *err);
void uses_free(struct uses *uses); /* frees its contents only */
/* Finds a key's mount, or the bind of it, by its number. NULL: there is none. */
const struct use *uses_find(const struct uses *uses, enum use_kind kind, const char *key, unsigned number);
/* Finds the first of both for this filesystem. NULL: it is not shared. */
const struct use *uses_shared(const struct uses *uses, dev_t device);
/* Finds the topmost mount at a path. NULL: it is not one of datasetfs. */
const struct use *uses_at(const struct uses *uses, const char *path);
/* Counts the consumers of a filesystem: places and holds. */
size_t uses_count(const struct uses *uses, dev_t device);

#define auto_uses cleanup(uses_free)
