/* SPDX-License-Identifier: MIT */
/* zstd: one chunk is one frame. A codec belongs to one thread. */
#pragma once
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"

#define CODEC_LEVEL_MIN     1
#define CODEC_LEVEL_MAX     19
#define CODEC_LEVEL_DEFAULT 3

struct codec;

struct codec *codec_new(void); /* NULL: out of memory */
void codec_free(struct codec *codec);

/* Sets the compression level from now on. A new codec has CODEC_LEVEL_DEFAULT. */
void codec_set_level(struct codec *codec, int level);
/* Compresses into out. *ret_length is 0 if the frame does not fit into room bytes. */
must_check int codec_compress(struct codec *codec, struct span in, void *out, size_t room, size_t *ret_length,
			      struct error *err);
/* Decompresses a frame. -EBADMSG unless it holds exactly length bytes. */
must_check int codec_decompress(struct codec *codec, const void *in, size_t stored, void *out, size_t length,
				struct error *err);
