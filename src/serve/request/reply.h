/* SPDX-License-Identifier: MIT */
/* Ends requests: sends exactly one reply, counts it, and frees the slot. Requests end in no other way. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "fuse/channel.h"
#include "serve/worker/worker.h"

/* Timeout of names and attributes that never change, in seconds. The kernel converts it to jiffies and clamps it. */
#define REPLY_FOREVER UINT64_C(1000000000)

/* Answers with an error. code: a negative errno; one that callers of read(2) and the like do not expect becomes EIO. */
void reply_error(struct worker *worker, struct channel_request *request, int code);
/* Answers with an error like reply_error(). -EBADMSG, for an inode that does not decode although the index was
 * verified, is also logged, rate-limited. */
void reply_fail(struct worker *worker, struct channel_request *request, int code, const struct error *err);
/* Answers with data. True: the kernel took the reply, so names in it count as looked up. */
bool reply_data(struct worker *worker, struct channel_request *request, const void *data, size_t length);
/* Writes the answer to an ioctl into the payload: its result and the argument, both copied to the caller. Returns the
 * answer's length. */
size_t reply_write_ioctl(struct channel_request *request, int32_t result, const void *argument, size_t size);
/* Answers an ioctl with reply_write_ioctl(). */
void reply_ioctl(struct worker *worker, struct channel_request *request, int32_t result, const void *argument,
		 size_t size);
/* Leaves a request to the kernel, which sends it to the next server. */
void reply_leave(struct channel_request *request);
/* Ends a request that another thread answered early. */
void reply_end(struct worker *worker, struct channel_request *request);
/* Ends a request whose opcode has no reply. */
void reply_none(struct worker *worker, struct channel_request *request);
