/* SPDX-License-Identifier: MIT */
/* A thread that flushes the volume, reads what was written before that, and begins again. Bytes are not kept, only sums
 * of them. At the end the first block of every write is read a second time: a device that puts two addresses in one
 * place (a map gone wrong, a size that is a lie) damages what was right when it was compared. */
#include "readback.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge.h"
#include "datasetfs/format.h"
#include "image/checksum.h"
#include "interrupt.h"
#include "mapped.h"

struct readback_record {
	uint64_t offset, length;
	struct checksum_key key;
	uint64_t first; /* sum of the first block */
};

struct readback {
	struct source *source;
	uint8_t *buffer; /* the thread's */

	pthread_t thread;
	bool joined;
	pthread_mutex_t mutex; /* for all below */
	pthread_cond_t changed;
	struct mapped records;
	uint64_t bytes; /* of records that the thread has not seen */
	bool last, stop; /* last: no record comes any more */
	struct progress *progress; /* set before last */
	int result;                /* of the thread, with error */
	struct error error;
};

static int readback_wrong(uint64_t offset, uint64_t length, struct error *err)
{
	return error_set(err, -EIO,
			 "read back at offset %" PRIu64 ": %" PRIu64 " bytes are not what was written, the device is "
			 "not to be trusted",
			 offset, length);
}

static int readback_compare(struct readback *readback, const struct readback_record *record, struct error *err)
{
	struct checksum_key key;
	int r;

	r = source_read(readback->source, 0, record->offset, readback->buffer, record->length, err);
	if (r < 0)
		return r;
	key = checksum_128(readback->buffer, record->length);
	if (key.low == record->key.low && key.high == record->key.high)
		return 0;
	return readback_wrong(record->offset, record->length, err);
}

static int readback_compare_first(struct readback *readback, const struct readback_record *record, struct error *err)
{
	int r = source_read(readback->source, 0, record->offset, readback->buffer, DSFS_BLOCK, err);

	if (r < 0 || checksum_64(readback->buffer, DSFS_BLOCK) == record->first)
		return r;
	return readback_wrong(record->offset, DSFS_BLOCK, err);
}

/* A copy, as the array moves when it grows; false when nobody wants to know any more. */
static bool readback_record(struct readback *readback, uint64_t number, struct readback_record *ret)
{
	bool wanted;

	pthread_mutex_lock(&readback->mutex);
	wanted = !readback->stop;
	*ret = ((const struct readback_record *)(const void *)readback->records.bytes)[number];
	pthread_mutex_unlock(&readback->mutex);
	return wanted;
}

/* Waits until a step is worth a flush; false when nobody wants to know any more. *ret_count records are there, and
 * there will be no others when *ret_last. */
static bool readback_wait(struct readback *readback, uint64_t *ret_count, bool *ret_last)
{
	bool wanted;

	pthread_mutex_lock(&readback->mutex);
	while (!readback->stop && !readback->last && readback->bytes < READBACK_STEP)
		pthread_cond_wait(&readback->changed, &readback->mutex);
	readback->bytes = 0;
	*ret_count = readback->records.length / sizeof(struct readback_record);
	*ret_last = readback->last;
	wanted = !readback->stop;
	pthread_mutex_unlock(&readback->mutex);
	return wanted;
}

static int readback_each(struct readback *readback, uint64_t from, uint64_t to, struct progress *progress,
			 int (*each)(struct readback *readback, const struct readback_record *record,
				     struct error *err),
			 struct error *err)
{
	struct readback_record record;
	int r = 0;

	for (uint64_t i = from; r == 0 && i < to && readback_record(readback, i, &record); i++) {
		r = interrupt_check(err);
		if (r == 0)
			r = each(readback, &record, err);
		progress_add(progress, 0, record.length);
	}
	return r;
}

static int readback_all(struct readback *readback, struct error *err)
{
	uint64_t count, done = 0;
	bool last = false;
	int r = 0;

	while (r == 0 && !last) {
		if (!readback_wait(readback, &count, &last))
			return 0;
		r = source_flush(readback->source, err);
		if (r == 0)
			r = readback_each(readback, done, count, last ? readback->progress : NULL, readback_compare,
					  err);
		done = count;
	}
	return r < 0 ? r : readback_each(readback, 0, done, NULL, readback_compare_first, err);
}

static void *readback_run(void *argument)
{
	struct readback *readback = argument;
	struct error why = { 0 };
	int r = readback_all(readback, &why);

	pthread_mutex_lock(&readback->mutex);
	readback->result = r;
	readback->error = why;
	pthread_mutex_unlock(&readback->mutex);
	return NULL;
}

static void readback_free(struct readback *readback)
{
	mapped_close(&readback->records);
	free(readback->buffer);
	free(readback);
}

int readback_open(struct source *source, const struct temp *temp, struct readback **ret, struct error *err)
{
	struct readback *readback = calloc(1, sizeof(*readback));
	int r;

	if (!readback)
		return error_set(err, -ENOMEM, "out of memory");
	readback->source = source;
	readback->buffer = huge_alloc(READBACK_MAX);
	r = readback->buffer ? mapped_open(&readback->records, temp, err) : error_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		readback_free(readback);
		return r;
	}
	pthread_mutex_init(&readback->mutex, NULL);
	pthread_cond_init(&readback->changed, NULL);
	r = pthread_create(&readback->thread, NULL, readback_run, readback);
	if (r) {
		readback_free(readback);
		return error_set(err, -r, "cannot start a thread: %s", strerror(r));
	}
	*ret = readback;
	return 0;
}

static void readback_join(struct readback *readback, bool *how)
{
	pthread_mutex_lock(&readback->mutex);
	*how = true;
	pthread_cond_signal(&readback->changed);
	pthread_mutex_unlock(&readback->mutex);
	pthread_join(readback->thread, NULL);
	readback->joined = true;
}

void readback_close(struct readback *readback)
{
	if (!readback)
		return;
	if (!readback->joined)
		readback_join(readback, &readback->stop);
	pthread_cond_destroy(&readback->changed);
	pthread_mutex_destroy(&readback->mutex);
	readback_free(readback);
}

/* With the lock held, or after the thread. */
static int readback_result(const struct readback *readback, struct error *err)
{
	return readback->result < 0 ? error_set(err, readback->result, "%s", readback->error.reason) : 0;
}

int readback_add(struct readback *readback, uint64_t offset, const uint8_t *bytes, size_t length, struct error *err)
{
	struct readback_record record = { offset, length, checksum_128(bytes, length),
					  checksum_64(bytes, DSFS_BLOCK) };
	int r;

	pthread_mutex_lock(&readback->mutex);
	r = readback_result(readback, err);
	if (r == 0)
		r = mapped_append(&readback->records, &record, sizeof(record), NULL, err);
	if (r == 0)
		readback->bytes += length;
	if (readback->bytes >= READBACK_STEP)
		pthread_cond_signal(&readback->changed);
	pthread_mutex_unlock(&readback->mutex);
	return r;
}

int readback_finish(struct readback *readback, struct progress *progress, struct error *err)
{
	pthread_mutex_lock(&readback->mutex);
	progress_phase(progress, "verifying", readback->bytes);
	readback->progress = progress;
	pthread_mutex_unlock(&readback->mutex);
	readback_join(readback, &readback->last);
	return readback_result(readback, err);
}
