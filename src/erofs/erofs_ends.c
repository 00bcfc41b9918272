/* SPDX-License-Identifier: MIT */
/* Reads many last blocks at a time, in batches sorted by address. A failed read is repeated block by block: from
 * another copy if there is one, otherwise with an error that names the file. */
#include "erofs/erofs_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/list.h"
#include "base/round.h"
#include "erofs/erofs_runs.h"
#include "image/members/address.h"
#include "image/members/backing.h"
#include "io/engine.h"

#define ENDS_BATCH  16384u
#define ENDS_READS  64u
#define ENDS_WINDOW ((uint64_t)1 << 18) /* no read crosses a multiple of this; columns of groups are multiples of it */
#define ENDS_NEAR   ((uint64_t)1 << 16) /* blocks closer than this share one read */

struct ends_file {
	uint64_t end; /* address of the byte after the last one */
	uint64_t ordinal;
};

struct ends_read {
	struct io_read io;
	struct ends *ends;
	const struct ends_file *files; /* the files whose last blocks it reads */
	size_t count;
	uint8_t *buffer; /* ENDS_WINDOW bytes */
	struct ends_read *next;
};

struct ends {
	struct array_source *array;
	const struct index *index;
	uint64_t *marks;
	struct engine *engine;
	uint8_t *buffers;
	struct ends_read reads[ENDS_READS], *idle;
	unsigned under_way;
	int code; /* first failure */
	struct error failure;
	uint64_t failed_ordinal; /* file of the first failure */
	size_t count;
	struct ends_file files[ENDS_BATCH];
};

/* ---- reading ---- */

static uint64_t ends_block(const struct ends_file *file)
{
	return round_down(file->end, DSFS_BLOCK);
}

static void ends_look(struct ends *ends, const struct ends_file *file, const uint8_t *block)
{
	size_t used = file->end % DSFS_BLOCK;

	ends->marks[file->ordinal] |= !bytes_are_zero(block + used, DSFS_BLOCK - used);
}

static void ends_again(struct ends *ends, const struct ends_read *read)
{
	const struct backing backing = backing_of(&ends->array->source, &ends->index->members);

	for (size_t i = 0; ends->code == 0 && i < read->count; i++) {
		ends->code = backing_read(backing, ends_block(&read->files[i]), 0, read->buffer, DSFS_BLOCK,
					  &ends->failure);
		if (ends->code == 0)
			ends_look(ends, &read->files[i], read->buffer);
		else
			ends->failed_ordinal = read->files[i].ordinal;
	}
}

static void ends_done(struct io_read *io, int result)
{
	struct ends_read *read = (struct ends_read *)io;
	struct ends *ends = read->ends;

	if (result < 0 || (size_t)result != io->iov[0].iov_len)
		ends_again(ends, read);
	else
		for (size_t i = 0; i < read->count; i++)
			ends_look(ends, &read->files[i],
				  read->buffer + (ends_block(&read->files[i]) - ends_block(read->files)));
	ends->under_way--;
	list_push(ends->idle, read, next);
}

/* Waits until at most this many reads are in flight. */
static int ends_wait(struct ends *ends, unsigned most, struct error *err)
{
	bool readable;
	int r = 0;

	while (r == 0 && ends->under_way > most)
		r = engine_wait(ends->engine, true, &readable, err);
	return r;
}

/* Returns how many of the files, from the first one, one read can serve. */
static size_t ends_together(const struct ends_file *files, size_t count)
{
	size_t n = 1;

	while (n < count && ends_block(&files[n]) - ends_block(&files[n - 1]) < ENDS_NEAR &&
	       ends_block(&files[n]) / ENDS_WINDOW == ends_block(files) / ENDS_WINDOW)
		n++;
	return n;
}

static void ends_begin(struct ends *ends, const struct ends_file *files, size_t count)
{
	struct ends_read *read = list_pop(ends->idle, next);
	uint64_t address = ends_block(files);

	ends->under_way++;
	read->files = files;
	read->count = count;
	read->io.member = address_member(address);
	read->io.offset = address_offset(address);
	read->io.iov[0] = (struct iovec){ read->buffer, ends_block(&files[count - 1]) + DSFS_BLOCK - address };
	engine_read(ends->engine, &read->io);
}

static int ends_compare(const void *a, const void *b)
{
	const struct ends_file *x = a, *y = b;

	return (x->end > y->end) - (x->end < y->end);
}

static int ends_read_batch(struct ends *ends, struct error *err)
{
	size_t n;
	int r = 0;

	qsort(ends->files, ends->count, sizeof(*ends->files), ends_compare);
	for (size_t i = 0; r == 0 && ends->code == 0 && i < ends->count; i += n) {
		n = ends_together(&ends->files[i], ends->count - i);
		ends_begin(ends, &ends->files[i], n);
		r = ends_wait(ends, ENDS_READS - 1, err);
	}
	ends->count = 0;
	if (r == 0)
		r = ends_wait(ends, 0, err);
	return r == 0 && ends->code < 0 ? error_pass(err, ends->code, &ends->failure) : r;
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

static int ends_open_engine(struct ends *ends, struct error *err)
{
	const struct engine_setup setup = { .poll_fd = -1, .wake = -1, .volume_fds = ends->array->fds,
					    .member_count = ends->array->count, .depth = ENDS_READS };

	return ring_new(&setup, &ends->engine, NULL) == 0 ? 0 : pool_new(&setup, &ends->engine, err);
}

static int ends_open(struct ends *ends, struct error *err)
{
	ends->buffers = aligned_alloc(DSFS_BLOCK, ENDS_READS * ENDS_WINDOW);
	if (!ends->buffers)
		return error_no_memory(err);
	for (unsigned i = 0; i < ENDS_READS; i++) {
		struct ends_read *read = &ends->reads[i];

		*read = (struct ends_read){ .io = { .iov_count = 1, .done = ends_done }, .ends = ends,
					    .buffer = ends->buffers + i * ENDS_WINDOW };
		list_push(ends->idle, read, next);
	}
	return ends_open_engine(ends, err);
}

static void ends_close(struct ends *ends)
{
	if (ends_wait(ends, 0, NULL) < 0)
		return; /* the device may still write to its memory */
	engine_free(ends->engine);
	free(ends->buffers);
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
