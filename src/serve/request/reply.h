/* SPDX-License-Identifier: MIT */
/* The only way a request ends: exactly one reply, which is counted, and the slot is freed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "fuse/channel.h"
#include "serve/worker/worker.h"

/* Timeouts of names and attributes that never change, in seconds. The kernel keeps them in jiffies and
 * clamps. */
#define REPLY_FOREVER UINT64_C(1000000000)

/* code: a negative errno; one that means nothing to a caller of read(2) and the like goes out as EIO. */
void reply_error(struct worker *worker, struct channel_request *request, int code);
/* The same. An inode that does not decode is damage that got past the digest: said in the log, once in a while. */
void reply_fail(struct worker *worker, struct channel_request *request, int code, const struct error *err);
/* True when the kernel took it: names in the reply count as looked up. */
bool reply_data(struct worker *worker, struct channel_request *request, const void *data, size_t length);
/* For requests that somebody else answered early. */
void reply_end(struct worker *worker, struct channel_request *request);
/* For requests that have no answer. */
void reply_none(struct worker *worker, struct channel_request *request);
