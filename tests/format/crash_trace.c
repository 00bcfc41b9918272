/* SPDX-License-Identifier: MIT */
/* Stands between a transaction and its volume. */
#include "format/crash_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/writer.h"

void die(const char *what, const char *why)
{
	fprintf(stderr, "crash: %s: %s\n", what, why);
	exit(1);
}

static void recorder_add(struct recorder *recorder, struct operation operation)
{
	pthread_mutex_lock(&recorder->mutex);
	recorder->operations = realloc(recorder->operations, (recorder->count + 1) * sizeof(operation));
	if (!recorder->operations)
		abort();
	recorder->operations[recorder->count++] = operation;
	pthread_mutex_unlock(&recorder->mutex);
}

static int recorder_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
			 struct error *err)
{
	return source_read(((struct recorder *)source)->volume, member, offset, buffer, length, err);
}

static int recorder_write(struct source *source, uint32_t member, uint64_t offset, const void *buffer, size_t length,
			  struct error *err)
{
	struct recorder *recorder = (struct recorder *)source;
	struct operation operation = { .member = member, .offset = offset, .length = length };

	if (!recorder->forgets) {
		operation.bytes = malloc(length);
		if (!operation.bytes)
			abort();
		memcpy(operation.bytes, buffer, length);
		recorder_add(recorder, operation);
	}
	return source_write(recorder->volume, member, offset, buffer, length, err);
}

static int recorder_flush(struct source *source, struct error *err)
{
	struct recorder *recorder = (struct recorder *)source;

	if (recorder->forgets)
		return 0;
	recorder_add(recorder, (struct operation){ .is_flush = true });
	return source_flush(recorder->volume, err);
}

static uint64_t recorder_size(struct source *source, uint32_t member)
{
	return source_size(((struct recorder *)source)->volume, member);
}

static const struct source_ops recorder_ops = { .read = recorder_read, .write = recorder_write,
						.flush = recorder_flush, .size = recorder_size };

void recorder_init(struct recorder *recorder, bool forgets)
{
	*recorder = (struct recorder){ .source.ops = &recorder_ops, .forgets = forgets,
				       .mutex = PTHREAD_MUTEX_INITIALIZER };
}

void recorder_done(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->count; i++)
		free(recorder->operations[i].bytes);
	free(recorder->operations);
}

void recorder_record(struct recorder *recorder, struct transaction *transaction)
{
	recorder->volume = transaction->source;
	transaction->source = &recorder->source;
}

/* --- the writes of a publish --- */

static void fail_write(const struct operation *operation, const char *why)
{
	fprintf(stderr, "crash: write of %zu bytes at %" PRIu64 ": %s\n", operation->length, operation->offset, why);
	exit(1);
}

/* The next piece of a run, or the first one of another: true. */
static bool check_write(const struct operation *former, const struct operation *write)
{
	if (write->length > WRITER_BUFFER || write->length % DSFS_BLOCK || write->offset % DSFS_BLOCK)
		fail_write(write, "not whole blocks of at most 4 MiB");
	if (!former || write->offset != former->offset + former->length)
		return true;
	if (write->offset % WRITER_BUFFER)
		fail_write(former, "its run goes on, but it does not end at a multiple of 4 MiB");
	return false;
}

/* The last data write is the catalogue, which is placed by itself. */
void recorder_check_writes(const struct recorder *recorder)
{
	const struct operation *former = NULL, *next = NULL;
	size_t count = 0, runs = 0;

	for (size_t i = 0; i < recorder->count; i++) {
		const struct operation *operation = &recorder->operations[i];

		if (operation->is_flush || operation->offset < DSFS_DATA_AT)
			continue;
		if (next) {
			runs += check_write(former, next);
			former = next;
			count++;
		}
		next = operation;
	}
	printf("data: %zu writes, runs %zu\n", count, runs);
}
