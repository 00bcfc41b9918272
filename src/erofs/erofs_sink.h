/* SPDX-License-Identifier: MIT */
/* A part of an image that is written sequentially: into a file, into memory, or only measured. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct erofs_sink {
	int fd;          /* -1: none */
	uint8_t *memory; /* if fd is -1: room for everything; NULL: only measures */
	uint64_t start;  /* offset in the image */
	uint64_t at;     /* bytes so far */
	uint8_t *buffer;
	size_t fill;
};

bool erofs_sink_is_real(const struct erofs_sink *sink); /* false: only measures */
must_check int erofs_sink_open(int fd, uint64_t start, struct erofs_sink *ret, struct error *err);
void erofs_sink_close(struct erofs_sink *sink); /* drops unflushed bytes */
/* Writes length bytes; bytes NULL: zeros. */
must_check int erofs_sink_put(struct erofs_sink *sink, const void *bytes, uint64_t length, struct error *err);
/* Pads with zeros to a multiple of to. */
must_check int erofs_sink_align(struct erofs_sink *sink, uint32_t to, struct error *err);
must_check int erofs_sink_flush(struct erofs_sink *sink, struct error *err);
