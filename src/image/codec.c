/* SPDX-License-Identifier: MIT */
/* The only user of zstd. */
#include "image/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct codec {
	ZSTD_CCtx *compress; /* made on first use */
	ZSTD_DCtx *decompress;
	int level;
};

struct codec *codec_new(void)
{
	struct codec *codec = calloc(1, sizeof(*codec));

	if (codec)
		codec->level = CODEC_LEVEL_DEFAULT;
	return codec;
}

void codec_free(struct codec *codec)
{
	if (!codec)
		return;
	ZSTD_freeCCtx(codec->compress);
	ZSTD_freeDCtx(codec->decompress);
	free(codec);
}

void codec_set_level(struct codec *codec, int level)
{
	codec->level = level;
}

int codec_compress(struct codec *codec, struct span in, void *out, size_t room, size_t *ret_length, struct error *err)
{
	size_t n;

	if (!codec->compress)
		codec->compress = ZSTD_createCCtx();
	if (!codec->compress)
		return error_no_memory(err);
	n = ZSTD_compressCCtx(codec->compress, out, room, in.base, in.size, codec->level);
	if (ZSTD_isError(n)) {
		if (ZSTD_getErrorCode(n) != ZSTD_error_dstSize_tooSmall)
			return error_set(err, -EIO, "zstd: %s", ZSTD_getErrorName(n));
		n = 0;
	}
	*ret_length = n;
	return 0;
}

int codec_decompress(struct codec *codec, const void *in, size_t stored, void *out, size_t length, struct error *err)
{
	size_t n;

	if (!codec->decompress)
		codec->decompress = ZSTD_createDCtx();
	if (!codec->decompress)
		return error_no_memory(err);
	n = ZSTD_decompressDCtx(codec->decompress, out, length, in, stored);
	if (ZSTD_isError(n))
		return error_set(err, -EBADMSG, "zstd frame of %zu bytes: %s", stored, ZSTD_getErrorName(n));
	if (n != length)
		return error_set(err, -EBADMSG, "zstd frame holds %zu bytes, expected %zu", n, length);
	return 0;
}
