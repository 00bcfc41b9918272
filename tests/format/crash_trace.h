/* SPDX-License-Identifier: MIT */
/* Every write and flush of a change of a volume, in their order. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "volume/transaction/transaction.h"

struct operation {
	bool is_flush; /* of all members */
	uint32_t member;
	uint64_t offset;
	size_t length;
	uint8_t *bytes;
};

/* Passes everything on to the volume and keeps a copy of what changes it. */
struct recorder {
	struct source source;
	struct source *volume;
	bool forgets;          /* it passes on no flush either: what comes of it matters, not that it is durable */
	pthread_mutex_t mutex; /* the writer has a thread of its own */
	struct operation *operations;
	size_t count;
};

void recorder_init(struct recorder *recorder, bool forgets);
void recorder_done(struct recorder *recorder);
/* From here on, the transaction writes through it. */
void recorder_record(struct recorder *recorder, struct transaction *transaction);
/* Ends the program unless a publish wrote its data in large pieces, in order. Of a volume of one member. */
void recorder_check_writes(const struct recorder *recorder);

/* Ends the program. */
_Noreturn void die(const char *what, const char *why);
