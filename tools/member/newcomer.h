/* SPDX-License-Identifier: MIT */
/* What is to take the place of a member: whether it may, and what it has already. */
#pragma once
#include "volume.h"
#include "volume/transaction.h"

struct newcomer {
	char *path;
	struct site site;
	struct transaction_member member; /* open and locked, once newcomer_make() was called */
	uint8_t uuid[16];                 /* that it has, or will have */
	uint64_t complete;                /* what was born up to this superblock is on it; 0: nothing */
	bool is_there;                    /* the member, which lacks nothing: it is not opened again */
	bool is_itself;                   /* the member, which was away */
	bool is_resumed;                  /* somebody began to fill it for this very place */
	bool has_other;                   /* something else lies there, which goes */
	bool is_device;
};

struct newcomer_options {
	bool force;   /* replace something else that lies there */
	bool preempt; /* take another host's reservation away */
};

/* Looks at what has this name; a file that is not there is made by newcomer_make(). The transaction was loaded.
 * -EEXIST: it holds something else; -EBUSY, -EINVAL: it is used, or is a member. */
must_check int newcomer_open(const char *name, const struct transaction *transaction, uint32_t number,
			     const struct newcomer_options *options, struct newcomer *ret, struct error *err);
/* Whether it has room for so many bytes, if it is there. */
must_check int newcomer_check_room(const struct newcomer *newcomer, uint64_t size, struct error *err);
/* There is room for so many bytes, and nothing that somebody takes for something else. */
must_check int newcomer_make(struct newcomer *newcomer, uint64_t size, const struct newcomer_options *options,
			     struct error *err);
void newcomer_close(struct newcomer *newcomer);
