/* SPDX-License-Identifier: MIT */
/* Prepares the file or device that replaces a member, or is added: finds out whether it may be used, and which content
 * it already has. */
#pragma once
#include "volume.h"
#include "volume/transaction/transaction.h"

struct newcomer {
	char *path;
	struct site site;
	struct transaction_member member; /* open and locked, once newcomer_make() was called */
	uint8_t uuid[16];                 /* member UUID that it has or will get */
	uint64_t complete;                /* sequence of the superblock up to which it has everything; 0: nothing */
	bool is_there;                    /* it is the member and lacks nothing, so it is not opened again */
	bool is_itself;                   /* it is the member itself, which was missing before */
	bool is_resumed;                  /* an earlier run began to make it this member */
	bool has_other;                   /* it holds other content, or is shared, and will be replaced */
	bool is_shared;                   /* others own or may write the file: a new one is root's */
	bool is_device;
};

struct newcomer_options {
	bool force;   /* replace other content that lies there */
	bool preempt; /* take another host's reservation away */
};

/* Opens and examines the file or device of this name, which is to replace member `number`, or to become it. A file that
 * does not exist is created later, by newcomer_make(). The transaction must be loaded. -EEXIST: it holds other content;
 * -EBUSY, -EINVAL: it is in use, or a member. */
must_check int newcomer_open(const char *name, const struct transaction *transaction, uint32_t number,
			     const struct newcomer_options *options, struct newcomer *ret, struct error *err);
/* Checks that the newcomer, if it exists, has room for size bytes. */
must_check int newcomer_check_room(const struct newcomer *newcomer, uint64_t size, struct error *err);
/* Creates the file if it does not exist, makes room for size bytes, and wipes superblock slots and signatures that
 * could be mistaken for valid ones. */
must_check int newcomer_make(struct newcomer *newcomer, uint64_t size, const struct newcomer_options *options,
			     struct error *err);
/* Writes the record that identifies it until it is the member that its superblock describes. */
must_check int newcomer_write_record(struct newcomer *newcomer, struct error *err);
void newcomer_close(struct newcomer *newcomer);
