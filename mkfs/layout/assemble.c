/* SPDX-License-Identifier: MIT */
/* Copies the parts of the index into one file, and writes sections in steps. */
#include "layout/assemble.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/interrupt.h"
#include "base/thread/thread.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/names/names.h"
#include "image/sums/sha256.h"

#define ASSEMBLE_STEP (1u << 20)

static int assemble_part(const struct temp *temp, int fd, uint64_t offset, const struct mapped *part,
			 struct error *err)
{
	uint64_t step;
	int r;

	for (uint64_t at = 0; at < part->length; at += step) {
		step = part->length - at < ASSEMBLE_STEP ? part->length - at : ASSEMBLE_STEP;
		r = temp_write(temp, fd, offset + at, part->bytes + at, step, err);
		if (r == 0)
			r = interrupt_check(err);
		if (r < 0)
			return r;
	}
	mapped_rest(part); /* the section has it now */
	return 0;
}

static int assemble_parts(const struct records *records, const struct temp *temp, int fd,
			  const struct index_layout *layout, struct error *err)
{
	int r;

	r = assemble_part(temp, fd, layout->inodes, &records->inodes, err);
	if (r == 0)
		r = assemble_part(temp, fd, layout->chunks, &records->chunks, err);
	if (r == 0)
		r = assemble_part(temp, fd, layout->classes, &records->classes.list, err);
	if (r == 0)
		r = assemble_part(temp, fd, layout->blob, &records->blob, err);
	if (r == 0 && ftruncate(fd, (off_t)layout->length) < 0)
		r = error_errno(err, "cannot write a temporary file");
	return r;
}

/* Calls each() with the section's bytes, in steps. */
static int assemble_each(const struct temp *temp, int fd, uint64_t length,
			 int (*each)(void *argument, const uint8_t *bytes, size_t length, struct error *err),
			 void *argument, struct error *err)
{
	auto_free uint8_t *buffer = malloc(ASSEMBLE_STEP);
	size_t step;
	int r;

	if (!buffer)
		return error_no_memory(err);
	for (uint64_t at = 0; at < length; at += step) {
		step = length - at < ASSEMBLE_STEP ? length - at : ASSEMBLE_STEP;
		r = temp_read(temp, fd, at, buffer, step, err);
		if (r == 0)
			r = each(argument, buffer, step, err);
		if (r == 0)
			r = interrupt_check(err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Writes bytes of a section into the space reserved for all of it, or, with several members, spread over them. */
static int assemble_put(struct writer *writer, const uint8_t *bytes, uint64_t length, struct extent_list *extents,
			struct error *err)
{
	uint64_t address, step;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < length; at += step) {
		step = length - at < ASSEMBLE_STEP ? length - at : ASSEMBLE_STEP;
		if (writer_is_spread(writer))
			r = writer_reserve_anywhere(writer, step, SPACE_BLOCK, err);
		if (r == 0)
			r = writer_append(writer, bytes + at, step, &address, err);
		if (r == 0)
			r = extent_list_add_in(extents, address, step, writer_piece(writer), err);
	}
	return r;
}

/* Reserves contiguous space for a section; with several members assemble_put() reserves space step by step. */
static int assemble_reserve(struct writer *writer, uint64_t length, struct error *err)
{
	return writer_is_spread(writer) ? 0 : writer_reserve(writer, length, SPACE_BLOCK, err);
}

/* Leaves a section out because there is no room for it, and warns. */
static int assemble_leave_out(struct extent_list *extents, const char *consequence)
{
	log_warn("%s, ignoring", consequence);
	extent_list_free(extents);
	*extents = (struct extent_list){ 0 };
	return 0;
}

int assemble_section(const struct assemble *assemble, const struct records *records, struct names_writer *names,
		     int *ret_fd, struct error *err)
{
	struct version *version = assemble->version;
	auto_close int fd = -1;
	struct index_layout layout;
	int r;

	r = temp_file(assemble->temp, &fd, err);
	if (r < 0) {
		names_writer_abort(names);
		return r;
	}
	r = names_writer_finish(names, fd, &version->shape.names_length, err);
	if (r < 0)
		return r == -ENOSPC ? temp_failed(assemble->temp, r, err) : r;
	version->shape.chunk_count = records_chunk_count(records);
	version->shape.class_count = records->classes.list.length / sizeof(struct dsfs_class);
	version->shape.blob_length = records->blob.length;
	r = index_layout(&version->shape, &layout, err);
	if (r == 0)
		r = assemble_parts(records, assemble->temp, fd, &layout, err);
	version->index.length = layout.length;
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}

int assemble_stat_cache(const struct assemble *assemble, struct stat_cache_writer *stat_cache,
			const struct filesystem *filesystem, struct error *err)
{
	struct version *version = assemble->version;
	const struct mapped *section;
	int r;

	r = stat_cache_writer_end(stat_cache, version->shape.inode_count, filesystem, &section, err);
	if (r < 0 || !section->length) /* also if the temporary directory is full */
		return r;
	r = assemble_reserve(assemble->writer, section->length, err);
	if (r == 0)
		r = assemble_put(assemble->writer, section->bytes, section->length, &version->source.extents, err);
	if (r == -ENOSPC)
		return assemble_leave_out(&version->source.extents,
					  "no free extent is large enough for the stat cache");
	if (r == 0)
		r = sha256_of(section->bytes, section->length, version->source.sha256, err);
	if (r == 0)
		version->source.length = section->length;
	return r;
}

/* Arguments of the thread that opens the section as a mount would: an index that it refuses must not be published. */
struct assemble_check {
	int fd;
	uint64_t volume_end;
	struct members members;
	const struct version *version;
	uint8_t digest[SHA256_SIZE];
	int result;
	struct error error;
};

static int assemble_digest(struct assemble_check *check, struct error *err)
{
	auto_close int copy = fcntl(check->fd, F_DUPFD_CLOEXEC, 0);
	struct index *index;
	int r;

	if (copy < 0)
		return error_errno(err, "cannot open the index");
	r = index_load_fd(copy, check->version, check->volume_end, &check->members, &index, err);
	if (r < 0)
		return r;
	(void)take_fd(&copy);
	r = dump_digest(index, check->digest, err);
	index_close(index);
	return r;
}

static void assemble_check_run(void *argument)
{
	struct assemble_check *check = argument;

	check->result = assemble_digest(check, &check->error);
}

static int assemble_check_end(struct assemble_check *check, struct version *version, struct error *err)
{
	if (check->result < 0)
		return error_pass(err, check->result, &check->error);
	memcpy(version->digest, check->digest, sizeof(check->digest));
	return 0;
}

struct assemble_stream {
	const struct assemble *assemble;
	struct sha256 *sha;
};

static int assemble_stream_step(void *argument, const uint8_t *bytes, size_t length, struct error *err)
{
	struct assemble_stream *stream = argument;
	const struct assemble *assemble = stream->assemble;
	int r = assemble_reserve(assemble->writer, length, err);

	if (r == 0)
		r = assemble_put(assemble->writer, bytes, length, &assemble->version->index.extents, err);
	sha256_add(stream->sha, bytes, length);
	progress_add(assemble->progress, 0, length);
	return r;
}

static int assemble_write(const struct assemble *assemble, int fd, struct error *err)
{
	struct assemble_stream stream = { assemble, sha256_new() };
	struct version *version = assemble->version;
	int r;

	if (!stream.sha)
		return error_no_memory(err);
	r = assemble_each(assemble->temp, fd, version->index.length, assemble_stream_step, &stream, err);
	if (r == 0)
		r = sha256_end(stream.sha, version->index.sha256, err);
	sha256_free(stream.sha);
	return r;
}

int assemble_stream(const struct assemble *assemble, int fd, uint64_t volume_end, const struct members *members,
		    struct error *err)
{
	struct assemble_check check = { .fd = fd, .volume_end = volume_end, .version = assemble->version };
	const struct thread_setup setup = { .run = assemble_check_run, .argument = &check };
	struct thread thread = { 0 };
	int r = members_copy(members, &check.members, err); /* the writer adds groups */

	if (r < 0)
		return r;
	r = thread_start(&thread, 1, &setup, err);
	if (r == 0)
		r = assemble_write(assemble, fd, err);
	thread_join(&thread);
	members_free(&check.members);
	return r < 0 ? r : assemble_check_end(&check, assemble->version, err);
}

struct assemble_sums {
	struct writer *writer;
	struct extent_list *extents;
};

static int assemble_sums_step(void *argument, const uint8_t *bytes, size_t length, struct error *err)
{
	struct assemble_sums *to = argument;

	return assemble_put(to->writer, bytes, length, to->extents, err);
}

int assemble_sums(const struct assemble *assemble, struct records *records, struct error *err)
{
	struct version *version = assemble->version;
	struct assemble_sums to = { assemble->writer, &version->block_sums.extents };
	struct sums *sums = &records->sums;
	auto_free uint8_t *head = NULL;
	uint64_t head_length, length;
	int r;

	r = sums_end(sums, records_chunk_count(records), &head, &head_length, &length, err);
	if (r < 0 || !length)
		return r;
	r = assemble_reserve(to.writer, length, err);
	if (r == 0)
		r = assemble_put(to.writer, head, head_length, to.extents, err);
	if (r == 0)
		r = assemble_each(assemble->temp, sums->stream.fd, length - head_length, assemble_sums_step, &to, err);
	if (r == -ENOSPC)
		return assemble_leave_out(to.extents,
					  "no free extent is large enough for the block checksums, parts of large "
					  "files will be read in whole chunks");
	if (r == 0)
		r = sha256_of(head, head_length, version->block_sums.sha256, err);
	if (r == 0)
		version->block_sums.length = length;
	return r;
}
