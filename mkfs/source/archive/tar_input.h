/* SPDX-License-Identifier: MIT */
/* Buffers bytes for libarchive, which takes them in blocks and may stop within one: bytes that it has not used belong
 * to the next archive. */
#pragma once
#include <archive.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_INPUT_BUFFER (256u << 10)
#define TAR_INPUT_KEPT   (TAR_INPUT_BUFFER - 4096u) /* most bytes that stay, or that an archive leaves unused */
#define TAR_INPUT_KEEP_NONE UINT64_MAX
#define TAR_INPUT_HEADERS "has an entry with more than 250 KiB of headers"

/* A function that reads the next bytes. Returns their number, 0 at the end; negative with a reason. */
typedef int64_t (*tar_input_source)(void *argument, void *to, size_t room, const char **reason);

struct tar_input {
	tar_input_source source;
	void *argument;
	const char *reason; /* why the source failed, or NULL */
	uint8_t *bytes;     /* TAR_INPUT_BUFFER; bytes from at to used are not taken yet */
	size_t at, used;
	bool ended;      /* the source has ended */
	uint64_t read;   /* from the source so far */
	uint64_t handed; /* to this struct archive */
	uint64_t keep;   /* position in what was handed, from which bytes stay in the buffer; TAR_INPUT_KEEP_NONE */
};

/* Opens an input without reading yet. False: no memory. */
bool tar_input_open(struct tar_input *input, tar_input_source source, void *argument);
void tar_input_close(struct tar_input *input); /* a zeroed one may be closed, too */
/* Reads until wanted bytes are in the buffer, or to the end; returns how many are there. */
int64_t tar_input_fill(struct tar_input *input, size_t wanted);
/* Takes some bytes from the buffer, or reads them straight into to if it is empty; 0 at the end. */
int64_t tar_input_read(struct tar_input *input, void *to, size_t room);
/* Returns how many zeros begin the buffer; reads only if it is empty. */
int64_t tar_input_zeros(struct tar_input *input);
/* Returns how many bytes of the source have been taken. */
uint64_t tar_input_taken(const struct tar_input *input);

/* Hands the next bytes to libarchive: an archive_read_callback whose argument is a struct tar_input. */
la_ssize_t tar_input_hand(struct archive *archive, void *input, const void **ret);
/* Keeps what the archive takes from now on, until tar_input_forget(). */
void tar_input_keep(struct tar_input *input, struct archive *archive);
/* Returns what the archive was handed from this position on; NULL if that is no longer there. */
const uint8_t *tar_input_kept(const struct tar_input *input, uint64_t position, size_t *length);
void tar_input_forget(struct tar_input *input);
/* Takes back the bytes that the archive has not used, and frees it. */
void tar_input_end_archive(struct tar_input *input, struct archive *archive);
