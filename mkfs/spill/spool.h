/* SPDX-License-Identifier: MIT */
/* Keeps a queue of byte records in a temporary file, in constant memory. Only one thread at a time may use it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "spill/temp.h"

struct spool {
	struct temp_stream stream; /* records that were pushed */
	uint64_t taken;   /* file offset of the next record to read */
	uint64_t records; /* pushed and not popped */
	uint8_t *record; /* the last record popped */
	size_t room;     /* bytes allocated for record */
};

must_check int spool_open(struct spool *spool, const struct temp *temp, struct error *err);
void spool_close(struct spool *spool); /* a zeroed one may be closed, too */
must_check int spool_push(struct spool *spool, const void *head, size_t head_length, const void *bytes,
			  size_t length, struct error *err);
/* Returns 1 and the oldest record (valid until the next call), 0 if there is none, or a negative errno. A zero byte
 * follows the record. */
must_check int spool_pop(struct spool *spool, const void **ret, size_t *ret_length, struct error *err);
