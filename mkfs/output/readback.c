/* SPDX-License-Identifier: MIT */
/* Reads back in threads what was written before the last flush, while one thread makes the next flush. Only checksums
 * of the bytes are kept. At the end the first block of every write is read once more: if a device maps two addresses to
 * one place (a broken mapping, a wrong size), a later write damages bytes that were right when they were compared. */
#include "output/readback.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge.h"
#include "base/program/interrupt.h"
#include "base/thread/thread.h"
#include "datasetfs/format.h"
#include "image/members/address.h"
#include "image/sums/checksum.h"
#include "spill/mapped.h"

#define READBACK_THREADS 2u

struct readback_record {
	uint64_t address, length;
	struct checksum_key key;
	uint64_t first; /* sum of the first block */
};

struct readback {
	struct source *source;
	uint8_t *buffers[READBACK_THREADS];

	struct thread threads[READBACK_THREADS];
	pthread_mutex_t mutex; /* guards all below */
	pthread_cond_t changed;
	struct mapped records;
	uint64_t flushed, started; /* numbers of records: flushed, and being compared or done */
	uint64_t unflushed;        /* bytes of records that came since the last flush began */
	uint64_t pending;          /* bytes of records not compared yet */
	unsigned running;          /* threads that have started */
	bool flushing;             /* one of the threads is flushing */
	bool last, stop;           /* last: there will be no more records */
	struct progress *progress; /* set before last */
	int result;                /* the first failure of a thread, with error */
	struct error error;
};

static int readback_wrong(uint64_t address, uint64_t length, struct error *err)
{
	return error_set(err, -EIO,
			 "read back at offset %" PRIu64 ": %" PRIu64 " bytes differ from those written: do not "
			 "trust the device",
			 address_offset(address), length);
}

static int readback_read(struct readback *readback, const struct readback_record *record, uint8_t *buffer,
			 size_t length, struct error *err)
{
	return source_read(readback->source, address_member(record->address), address_offset(record->address), buffer,
			   length, err);
}

static int readback_compare(struct readback *readback, const struct readback_record *record, uint8_t *buffer,
			    struct error *err)
{
	struct checksum_key key;
	int r;

	r = readback_read(readback, record, buffer, record->length, err);
	if (r < 0)
		return r;
	key = checksum_128(buffer, record->length);
	if (key.low == record->key.low && key.high == record->key.high)
		return 0;
	return readback_wrong(record->address, record->length, err);
}

/* Returns a record. Call it with the lock held, or after the threads have ended. */
static const struct readback_record *readback_record(const struct readback *readback, uint64_t number)
{
	return &((const struct readback_record *)(const void *)readback->records.bytes)[number];
}

static uint64_t readback_count(const struct readback *readback)
{
	return readback->records.length / sizeof(struct readback_record);
}

static void readback_fail(struct readback *readback, int r, const struct error *why)
{
	if (!readback->result) {
		readback->result = r;
		readback->error = *why;
	}
	pthread_cond_broadcast(&readback->changed);
}

/* Flushes the volume. Called with the lock held, which it releases meanwhile. */
static void readback_flush(struct readback *readback)
{
	uint64_t count = readback_count(readback);
	struct error why = { 0 };
	int r;

	readback->unflushed = 0;
	readback->flushing = true;
	pthread_mutex_unlock(&readback->mutex);
	r = source_flush(readback->source, &why);
	pthread_mutex_lock(&readback->mutex);
	readback->flushing = false;
	readback->flushed = count;
	if (r < 0)
		readback_fail(readback, r, &why);
	pthread_cond_broadcast(&readback->changed);
}

/* Waits, with the lock held, for the next record to compare. Copies it, because the array moves when it grows. False
 * at the end, or after an error. */
static bool readback_next(struct readback *readback, struct readback_record *ret)
{
	while (!readback->stop && !readback->result) {
		if (readback->started < readback->flushed) {
			*ret = *readback_record(readback, readback->started++);
			return true;
		}
		if (readback->last && readback->flushed == readback_count(readback))
			return false;
		if (!readback->flushing && (readback->last || readback->unflushed >= READBACK_STEP))
			readback_flush(readback);
		else
			pthread_cond_wait(&readback->changed, &readback->mutex);
	}
	return false;
}

/* The body of each thread, which takes a buffer of its own even if both start at once. */
static void readback_run(void *argument)
{
	struct readback *readback = argument;
	struct readback_record record;
	struct error why = { 0 };
	uint8_t *buffer;
	int r;

	pthread_mutex_lock(&readback->mutex);
	buffer = readback->buffers[readback->running++];
	while (readback_next(readback, &record)) {
		pthread_mutex_unlock(&readback->mutex);
		r = interrupt_check(&why);
		if (r == 0)
			r = readback_compare(readback, &record, buffer, &why);
		pthread_mutex_lock(&readback->mutex);
		if (r < 0)
			readback_fail(readback, r, &why);
		readback->pending -= record.length;
		progress_add(readback->progress, 0, record.length);
	}
	pthread_mutex_unlock(&readback->mutex);
}

static int readback_open_threads(struct readback *readback, struct error *err)
{
	const struct thread_setup setup = { .run = readback_run, .argument = readback };

	for (unsigned i = 0; i < READBACK_THREADS; i++) {
		readback->buffers[i] = huge_alloc(READBACK_MAX);
		if (!readback->buffers[i])
			return error_no_memory(err);
	}
	return thread_start(readback->threads, READBACK_THREADS, &setup, err);
}

int readback_open(struct source *source, const struct temp *temp, struct readback **ret, struct error *err)
{
	struct readback *readback = calloc(1, sizeof(*readback));
	int r;

	if (!readback)
		return error_no_memory(err);
	readback->source = source;
	pthread_mutex_init(&readback->mutex, NULL);
	pthread_cond_init(&readback->changed, NULL);
	r = mapped_open(&readback->records, temp, err);
	if (r == 0)
		r = readback_open_threads(readback, err);
	if (r < 0) {
		readback_close(readback);
		return r;
	}
	*ret = readback;
	return 0;
}

static void readback_join(struct readback *readback, bool *how)
{
	pthread_mutex_lock(&readback->mutex);
	*how = true;
	pthread_cond_broadcast(&readback->changed);
	pthread_mutex_unlock(&readback->mutex);
	thread_join_all(readback->threads, READBACK_THREADS);
}

void readback_close(struct readback *readback)
{
	if (!readback)
		return;
	readback_join(readback, &readback->stop);
	pthread_cond_destroy(&readback->changed);
	pthread_mutex_destroy(&readback->mutex);
	mapped_close(&readback->records);
	for (unsigned i = 0; i < READBACK_THREADS; i++)
		free(readback->buffers[i]);
	free(readback);
}

/* Returns the first failure of a thread. Call it with the lock held, or after the threads have ended. */
static int readback_result(const struct readback *readback, struct error *err)
{
	return readback->result < 0 ? error_pass(err, readback->result, &readback->error) : 0;
}

int readback_add(struct readback *readback, uint64_t address, const uint8_t *bytes, size_t length, struct error *err)
{
	struct readback_record record = { address, length, checksum_128(bytes, length),
					  checksum_64(bytes, DSFS_BLOCK) };
	int r;

	pthread_mutex_lock(&readback->mutex);
	r = readback_result(readback, err);
	if (r == 0)
		r = mapped_append(&readback->records, &record, sizeof(record), NULL, err);
	if (r == 0) {
		readback->unflushed += length;
		readback->pending += length;
	}
	if (readback->unflushed >= READBACK_STEP)
		pthread_cond_signal(&readback->changed);
	pthread_mutex_unlock(&readback->mutex);
	return r;
}

static int readback_compare_first(struct readback *readback, struct error *err)
{
	uint64_t count = readback_count(readback);
	uint8_t *buffer = readback->buffers[0];
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		const struct readback_record *record = readback_record(readback, i);

		r = interrupt_check(err);
		if (r == 0)
			r = readback_read(readback, record, buffer, DSFS_BLOCK, err);
		if (r == 0 && checksum_64(buffer, DSFS_BLOCK) != record->first)
			r = readback_wrong(record->address, DSFS_BLOCK, err);
	}
	return r;
}

int readback_finish(struct readback *readback, struct progress *progress, struct error *err)
{
	int r;

	pthread_mutex_lock(&readback->mutex);
	progress_phase(progress, "verifying", readback->pending);
	readback->progress = progress;
	pthread_mutex_unlock(&readback->mutex);
	readback_join(readback, &readback->last);
	r = readback_result(readback, err);
	return r < 0 ? r : readback_compare_first(readback, err);
}
