/* SPDX-License-Identifier: MIT */
/* Bytes on their way to libarchive, which takes them in blocks and may stop within one: what it has not used belongs to
 * what follows. */
#pragma once
#include <archive.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_INPUT_BUFFER (256u << 10)

/* Bytes read, 0 at the end; negative with a reason. */
typedef int64_t (*tar_input_source)(void *argument, void *to, size_t room, const char **reason);

struct tar_input {
	tar_input_source source;
	void *argument;
	const char *reason; /* why the source failed */
	uint8_t *bytes;     /* TAR_INPUT_BUFFER; from at to used: what nobody has taken */
	size_t at, used;
	bool ended;      /* the source has */
	uint64_t read;   /* from the source so far */
	uint64_t handed; /* to this struct archive */
};

/* False: no memory. Does not read yet. */
bool tar_input_open(struct tar_input *input, tar_input_source source, void *argument);
void tar_input_close(struct tar_input *input); /* a zeroed one as well */
/* Reads until wanted bytes are there, or to the end; returns how many there are. */
int64_t tar_input_fill(struct tar_input *input, size_t wanted);
/* Takes some bytes, read straight to where they go if nothing is there; 0 at the end. */
int64_t tar_input_read(struct tar_input *input, void *to, size_t room);
/* Zeros in front of what is there; reads only if nothing is. */
int64_t tar_input_zeros(struct tar_input *input);
/* How many bytes of the source have been taken. */
uint64_t tar_input_taken(const struct tar_input *input);

/* An archive_read_callback, of a struct tar_input. */
la_ssize_t tar_input_hand(struct archive *archive, void *input, const void **ret);
/* Takes back what the archive has not used, and frees it. */
void tar_input_end_archive(struct tar_input *input, struct archive *archive);
