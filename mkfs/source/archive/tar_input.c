/* SPDX-License-Identifier: MIT */
/* Hands blocks to libarchive, which copies the bytes that it still needs of a block before it asks for the next. */
#include "source/archive/tar_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool tar_input_open(struct tar_input *input, tar_input_source source, void *argument)
{
	*input = (struct tar_input){ .source = source, .argument = argument, .bytes = malloc(TAR_INPUT_BUFFER),
				     .keep = TAR_INPUT_KEEP_NONE };
	return input->bytes != NULL;
}

void tar_input_close(struct tar_input *input)
{
	free(input->bytes);
	*input = (struct tar_input){ 0 };
}

int64_t tar_input_fill(struct tar_input *input, size_t wanted)
{
	int64_t n = 1;

	memmove(input->bytes, input->bytes + input->at, input->used - input->at);
	input->used -= input->at;
	input->at = 0;
	while (n > 0 && input->used < wanted) {
		n = input->source(input->argument, input->bytes + input->used, TAR_INPUT_BUFFER - input->used,
				  &input->reason);
		input->used += n > 0 ? (size_t)n : 0;
		input->read += n > 0 ? (uint64_t)n : 0;
	}
	input->ended |= n == 0;
	return n < 0 ? n : (int64_t)input->used;
}

int64_t tar_input_read(struct tar_input *input, void *to, size_t room)
{
	size_t there = input->used - input->at;
	int64_t n;

	if (there) {
		there = there < room ? there : room;
		memcpy(to, input->bytes + input->at, there);
		input->at += there;
		return (int64_t)there;
	}
	n = input->source(input->argument, to, room, &input->reason);
	input->read += n > 0 ? (uint64_t)n : 0;
	input->ended |= n == 0;
	return n;
}

int64_t tar_input_zeros(struct tar_input *input)
{
	int64_t n = input->at < input->used ? 1 : tar_input_fill(input, 1);
	size_t end = input->at;

	while (n > 0 && end < input->used && !input->bytes[end])
		end++;
	return n < 0 ? n : (int64_t)(end - input->at);
}

uint64_t tar_input_taken(const struct tar_input *input)
{
	return input->read - (input->used - input->at);
}

/* Returns how many bytes the archive has got but not used. They lie directly before input->at. */
static size_t tar_input_unused(const struct tar_input *input, struct archive *archive)
{
	uint64_t unused = input->handed - (uint64_t)archive_filter_bytes(archive, -1);

	return unused < input->at ? (size_t)unused : input->at;
}

void tar_input_keep(struct tar_input *input, struct archive *archive)
{
	input->keep = (uint64_t)archive_filter_bytes(archive, -1);
}

const uint8_t *tar_input_kept(const struct tar_input *input, uint64_t position, size_t *length)
{
	*length = (size_t)(input->handed - position);
	return input->handed - position <= input->at ? input->bytes + (input->at - *length) : NULL;
}

void tar_input_forget(struct tar_input *input)
{
	input->keep = TAR_INPUT_KEEP_NONE;
}

/* Returns how many bytes before input->at stay in the buffer: those that the archive has not used, or more. */
static size_t tar_input_stay(const struct tar_input *input, struct archive *archive)
{
	uint64_t kept = input->keep < input->handed ? input->handed - input->keep : 0;
	size_t unused = tar_input_unused(input, archive);

	return kept > unused && kept <= TAR_INPUT_KEPT && kept <= input->at ? (size_t)kept : unused;
}

la_ssize_t tar_input_hand(struct archive *archive, void *argument, const void **ret)
{
	struct tar_input *input = argument;
	size_t stay = tar_input_stay(input, archive);
	int64_t n;

	if (stay > TAR_INPUT_KEPT) {
		archive_set_error(archive, EIO, "%s", TAR_INPUT_HEADERS);
		return ARCHIVE_FATAL;
	}
	input->at -= stay;
	n = tar_input_fill(input, stay + 1);
	if (n < 0) {
		archive_set_error(archive, EIO, "%s", input->reason);
		return (la_ssize_t)n;
	}
	*ret = input->bytes + stay;
	n -= (int64_t)stay;
	input->at = input->used;
	input->handed += (uint64_t)n;
	return (la_ssize_t)n;
}

void tar_input_end_archive(struct tar_input *input, struct archive *archive)
{
	if (archive)
		input->at -= tar_input_unused(input, archive);
	input->handed = 0;
	tar_input_forget(input);
	archive_read_free(archive);
}
