/* SPDX-License-Identifier: MIT */
/* Reads many last blocks at a time, in batches sorted by address, as chunks of lists. Their sums are not checked, as
 * nothing proves a block by itself. One that no copy has is an error that names the file. */
#include "erofs/erofs_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/round.h"
#include "erofs/erofs_runs.h"
#include "read/queue.h"
#include "read/run.h"

#define ENDS_BATCH 16384u
#define ENDS_READS 8u
#define ENDS_GAP   ((64u << 10) - DSFS_BLOCK) /* bytes between two blocks that share a read of the device */

struct ends_file {
	uint64_t end; /* address of the byte after the last one */
	uint64_t ordinal;
};

struct ends_read {
	struct queue_slot read; /* must be the first field */
	struct ends *ends;
	const struct ends_file *files; /* the files whose last blocks it reads */
	size_t count;
	struct chunk chunks[READ_PIECES]; /* the blocks */
};

struct ends {
	struct array_source *array;
	const struct index *index;
	uint64_t *marks;
	struct queue queue;
	struct reader_counters counters;
	struct error failure;    /* the first one */
	uint64_t failed_ordinal; /* file of the first failure */
	size_t count;
	struct ends_file files[ENDS_BATCH];
};

/* ---- reading ---- */

static uint64_t ends_block(const struct ends_file *file)
{
	return round_down(file->end, DSFS_BLOCK);
}

/* Whether the file's last block is not the one of the file before it. */
static bool ends_is_other(const struct ends_file *files, size_t i)
{
	return i == 0 || ends_block(&files[i]) != ends_block(&files[i - 1]);
}

static void ends_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	const struct ends_read *read = (const struct ends_read *)op;
	const struct ends_file *file = read->files;

	if (read->ends->failure.code)
		return;
	while (ends_block(file) != chunk->address)
		file++;
	read->ends->failure = *err;
	read->ends->failed_ordinal = file->ordinal;
}

static void ends_done(struct queue_slot *slot, int64_t result)
{
	const struct ends_read *read = (const struct ends_read *)slot;
	const uint8_t *block = queue_payload(slot);

	(void)result;
	for (size_t i = 0; i < read->count; i++) {
		size_t used = read->files[i].end % DSFS_BLOCK;

		if (i && ends_is_other(read->files, i))
			block += DSFS_BLOCK;
		read->ends->marks[read->files[i].ordinal] |= !bytes_are_zero(block + used, DSFS_BLOCK - used);
	}
	queue_give(slot);
}

/* Begins to read the last blocks of files, from the first one on; returns of how many. */
static size_t ends_begin(struct ends *ends, const struct ends_file *files, size_t count)
{
	struct ends_read *read = (struct ends_read *)queue_take(&ends->queue);
	struct run run = { .chunks = read->chunks, .gap = ENDS_GAP };
	struct chunk chunk = { .sum.kind = DSFS_SUM_XXH3_64, .stored = DSFS_BLOCK, .length = DSFS_BLOCK,
			       .codec = DSFS_CODEC_RAW };

	read->ends = ends;
	read->files = files;
	for (read->count = 0; read->count < count; read->count++) {
		chunk.address = ends_block(&files[read->count]);
		if (ends_is_other(files, read->count) && !run_add(&run, &chunk))
			break;
	}
	count = read->count; /* the read may end while it begins */
	read->read.op.request = (struct read_request){ .version.index = ends->index,
						       .chunks = read->chunks,
						       .chunk_count = run.count,
						       .gap = run.gap,
						       .payload = queue_payload(&read->read),
						       .room = READ_MAX };
	queue_read(&read->read);
	return count;
}

static int ends_compare(const void *a, const void *b)
{
	const struct ends_file *x = a, *y = b;

	return (x->end > y->end) - (x->end < y->end);
}

static int ends_read_batch(struct ends *ends, struct error *err)
{
	int r = 0;

	qsort(ends->files, ends->count, sizeof(*ends->files), ends_compare);
	for (size_t i = 0; r == 0 && !ends->failure.code && i < ends->count;)
		if (queue_has_room(&ends->queue))
			i += ends_begin(ends, &ends->files[i], ends->count - i);
		else
			r = queue_wait(&ends->queue, QUEUE_FOR_EVER, err);
	ends->count = 0;
	if (r == 0)
		r = queue_drain(&ends->queue, err);
	return r == 0 && ends->failure.code ? error_pass(err, ends->failure.code, &ends->failure) : r;
}

/* ---- the files ---- */

static int ends_add_file(struct ends *ends, const struct inode *inode, struct error *err)
{
	uint64_t count = inode_chunk_count(ends->index, inode);
	struct chunk chunk;
	bool is_mapped = false;
	int r = count ? chunk_get(ends->index, inode, count - 1, &chunk, err) : 0;

	if (r < 0 || !count || chunk_is_hole(&chunk))
		return r;
	r = erofs_runs_maps(&chunk, &is_mapped, err);
	if (is_mapped && chunk.length % DSFS_BLOCK)
		ends->files[ends->count++] = (struct ends_file){ chunk.address + chunk.length, inode->ordinal };
	return r;
}

static int ends_add(struct ends *ends, uint64_t ordinal, struct error *err)
{
	struct inode inode;
	int r = inode_get(ends->index, ordinal, &inode, err);

	if (r < 0 || !S_ISREG(inode.mode))
		return r;
	r = ends_add_file(ends, &inode, err);
	if (r < 0)
		ends->failed_ordinal = ordinal;
	return r < 0 || ends->count < ENDS_BATCH ? r : ends_read_batch(ends, err);
}

static int ends_open(struct ends *ends, struct error *err)
{
	static const struct reader_options options = { .verify = false };
	static const struct reader_events events = { .failed = ends_failed };
	static const struct queue_client client = { .slot_size = sizeof(struct ends_read), .events = &events,
						    .done = ends_done };
	const struct queue_setup setup = { .client = &client,
					   .reader = { .options = &options, .geometry = ends->array->geometry,
						       .counters = &ends->counters },
					   .depth = ENDS_READS, .has_payloads = true };
	const struct engine_setup engine = { .poll_fd = -1, .wake = -1, .volume_fds = ends->array->fds,
					     .member_count = ends->array->count, .depth = ENDS_READS * READ_RANGES };
	int r = queue_open(&ends->queue, &setup, err);

	return r < 0 ? r : queue_start(&ends->queue, &engine, ring_new, pool_new, err);
}

static void ends_close(struct ends *ends)
{
	if (queue_drain(&ends->queue, NULL) < 0)
		return; /* the device may still write to its memory */
	queue_close(&ends->queue);
	free(ends);
}

int erofs_ends_find(struct array_source *array, const struct index *index, uint64_t *marks,
		    uint64_t *ret_ordinal, struct error *err)
{
	struct ends *ends = calloc(1, sizeof(*ends));
	int r;

	*ret_ordinal = 0;
	if (!ends)
		return error_no_memory(err);
	ends->array = array;
	ends->index = index;
	ends->marks = marks;
	r = ends_open(ends, err);
	for (uint64_t i = INODE_ROOT; r == 0 && i <= index->shape.inode_count; i++)
		r = ends_add(ends, i, err);
	if (r == 0)
		r = ends_read_batch(ends, err);
	*ret_ordinal = ends->failed_ordinal;
	ends_close(ends);
	return r;
}
