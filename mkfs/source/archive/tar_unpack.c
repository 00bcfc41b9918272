/* SPDX-License-Identifier: MIT */
/* Unpacks gzip with zlib, because libarchive does not check its checksums; bzip2, xz and zstd with libarchive's
 * filters. The first bytes tell the format; unknown data is passed on unchanged. A compressed stream may be followed by
 * another one, with zeros between them. */
#include "source/archive/tar_unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define TAR_UNPACK_LOOK 32u /* bytes of the longest of the shortest streams */
#define TAR_UNPACK_GZIP (16 + MAX_WBITS)
#define TAR_UNPACK_WINDOW "needs a window of more than 128 MiB, as of 'zstd --long=28': decompress it first, as in " \
			  "'zstd -dc --long=31 ARCHIVE | mkdatasetfs VOLUME -'"

struct tar_unpack {
	struct tar_input input;
	const char *reason;
	int64_t (*read)(struct tar_unpack *unpack, void *to, size_t room); /* NULL: the first bytes decide next */
	z_stream zlib;
	bool has_zlib;
	struct archive *archive;
	uint64_t skip; /* bytes left of a frame to skip */
};

/* A compressed format, which the first bytes tell. */
struct tar_unpack_format {
	const char *magic;
	size_t length;   /* of the magic number, whose first byte has the bits of mask */
	uint8_t mask;
	size_t shortest; /* bytes of the shortest stream */
	int64_t (*begin)(struct tar_unpack *unpack);
};

struct tar_unpack *tar_unpack_open(tar_input_source source, void *argument)
{
	struct tar_unpack *unpack = calloc(1, sizeof(*unpack));

	if (!unpack)
		return NULL;
	if (tar_input_open(&unpack->input, source, argument))
		return unpack;
	free(unpack);
	return NULL;
}

void tar_unpack_close(struct tar_unpack *unpack)
{
	if (!unpack)
		return;
	if (unpack->has_zlib)
		inflateEnd(&unpack->zlib);
	archive_read_free(unpack->archive);
	tar_input_close(&unpack->input);
	free(unpack);
}

/* Sets the reason of a failure. If the decompressor has asked for more input than there is, the archive is cut off. */
static int64_t tar_unpack_failed(struct tar_unpack *unpack, const char *reason)
{
	unpack->reason = unpack->input.ended ? TAR_UNPACK_CUT : reason ? reason : "no reason was given";
	if (reason && strstr(reason, "Frame requires too much memory"))
		unpack->reason = TAR_UNPACK_WINDOW;
	return -1;
}

static int64_t tar_unpack_fill(struct tar_unpack *unpack, size_t wanted)
{
	int64_t n = tar_input_fill(&unpack->input, wanted);

	if (n < 0)
		unpack->reason = unpack->input.reason;
	return n;
}

/* --- uncompressed data --- */

static int64_t tar_unpack_plain(struct tar_unpack *unpack, void *to, size_t room)
{
	int64_t n = tar_input_read(&unpack->input, to, room);

	if (n < 0)
		unpack->reason = unpack->input.reason;
	return n;
}

/* Passes on the zeros that follow a compressed stream; after them another stream may come. */
static int64_t tar_unpack_padding(struct tar_unpack *unpack, void *to, size_t room)
{
	int64_t n = tar_input_zeros(&unpack->input);

	if (n < 0)
		unpack->reason = unpack->input.reason;
	if (n == 0)
		unpack->read = NULL;
	if (n <= 0)
		return n;
	n = n < (int64_t)room ? n : (int64_t)room;
	memset(to, 0, (size_t)n);
	unpack->input.at += (size_t)n;
	return n;
}

/* --- gzip --- */

static int64_t tar_unpack_gzip(struct tar_unpack *unpack, void *to, size_t room)
{
	struct tar_input *input = &unpack->input;
	int64_t n;
	int code;

	do {
		n = input->at < input->used ? 1 : tar_unpack_fill(unpack, 1);
		if (n <= 0)
			return n < 0 ? n : tar_unpack_failed(unpack, NULL);
		unpack->zlib.next_in = input->bytes + input->at;
		unpack->zlib.avail_in = (uInt)(input->used - input->at);
		unpack->zlib.next_out = to;
		unpack->zlib.avail_out = (uInt)room;
		code = inflate(&unpack->zlib, Z_NO_FLUSH);
		if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
			return tar_unpack_failed(unpack, unpack->zlib.msg ? unpack->zlib.msg : "out of memory");
		input->at = input->used - unpack->zlib.avail_in;
	} while (code != Z_STREAM_END && unpack->zlib.avail_out == room);
	if (code == Z_STREAM_END)
		unpack->read = tar_unpack_padding;
	return (int64_t)(room - unpack->zlib.avail_out);
}

static int64_t tar_unpack_begin_gzip(struct tar_unpack *unpack)
{
	int code = unpack->has_zlib ? inflateReset(&unpack->zlib) : inflateInit2(&unpack->zlib, TAR_UNPACK_GZIP);

	unpack->read = tar_unpack_gzip;
	unpack->has_zlib |= code == Z_OK;
	return code == Z_OK ? 0 : tar_unpack_failed(unpack, "out of memory");
}

/* --- libarchive's filters --- */

static void tar_unpack_end_filter(struct tar_unpack *unpack)
{
	tar_input_end_archive(&unpack->input, unpack->archive);
	unpack->archive = NULL;
	unpack->read = tar_unpack_padding;
}

static int64_t tar_unpack_filter(struct tar_unpack *unpack, void *to, size_t room)
{
	int64_t n = archive_read_data(unpack->archive, to, room);

	if (n < 0)
		return tar_unpack_failed(unpack, archive_error_string(unpack->archive));
	if (n == 0)
		tar_unpack_end_filter(unpack);
	return n;
}

/* Begins to decompress with libarchive, which takes the result as raw content, or as empty. */
static int64_t tar_unpack_begin_filter(struct tar_unpack *unpack, int (*support)(struct archive *archive))
{
	struct archive *archive = unpack->archive = archive_read_new();
	struct archive_entry *entry;
	int code;

	unpack->read = tar_unpack_filter;
	if (!archive || support(archive) != ARCHIVE_OK || archive_read_support_format_raw(archive) != ARCHIVE_OK ||
	    archive_read_support_format_empty(archive) != ARCHIVE_OK)
		return tar_unpack_failed(unpack, "libarchive cannot decompress what it needs to");
	code = archive_read_open(archive, &unpack->input, NULL, tar_input_hand, NULL);
	if (code == ARCHIVE_OK)
		code = archive_read_next_header(archive, &entry);
	if (code == ARCHIVE_EOF)
		tar_unpack_end_filter(unpack);
	else if (code != ARCHIVE_OK)
		return tar_unpack_failed(unpack, archive_error_string(archive));
	return 0;
}

static int64_t tar_unpack_begin_bzip2(struct tar_unpack *unpack)
{
	return tar_unpack_begin_filter(unpack, archive_read_support_filter_bzip2);
}

static int64_t tar_unpack_begin_xz(struct tar_unpack *unpack)
{
	return tar_unpack_begin_filter(unpack, archive_read_support_filter_xz);
}

static int64_t tar_unpack_begin_zstd(struct tar_unpack *unpack)
{
	return tar_unpack_begin_filter(unpack, archive_read_support_filter_zstd);
}

/* --- skippable frames, with which pzstd begins, and of which libarchive knows only that they may come later --- */

static int64_t tar_unpack_skip(struct tar_unpack *unpack, void *to, size_t room)
{
	struct tar_input *input = &unpack->input;
	size_t step;
	int64_t n;

	(void)to, (void)room;
	for (; unpack->skip; unpack->skip -= step) {
		n = input->at < input->used ? 1 : tar_unpack_fill(unpack, 1);
		if (n <= 0)
			return n < 0 ? n : tar_unpack_failed(unpack, NULL);
		step = input->used - input->at;
		step = step < unpack->skip ? step : (size_t)unpack->skip;
		input->at += step;
	}
	unpack->read = NULL;
	return 0;
}

static int64_t tar_unpack_begin_skip(struct tar_unpack *unpack)
{
	const uint8_t *head = unpack->input.bytes + unpack->input.at;
	uint32_t length;

	memcpy(&length, head + 4, sizeof(length));
	unpack->skip = 8 + (uint64_t)le32toh(length);
	unpack->read = tar_unpack_skip;
	return 0;
}

/* --- formats --- */

static const struct tar_unpack_format tar_unpack_formats[] = {
	{ "\x1f\x8b", 2, 0xff, 18, tar_unpack_begin_gzip },
	{ "BZh", 3, 0xff, 14, tar_unpack_begin_bzip2 },
	{ "\xfd" "7zXZ", 6, 0xff, 32, tar_unpack_begin_xz },
	{ "\x28\xb5\x2f\xfd", 4, 0xff, 9, tar_unpack_begin_zstd },
	{ "\x50\x2a\x4d\x18", 4, 0xf0, 8, tar_unpack_begin_skip },
};

/* Returns whether the bytes begin like the format, or end within its magic number. */
static bool tar_unpack_is(const struct tar_unpack_format *format, const uint8_t *bytes, size_t length)
{
	size_t common = length < format->length ? length : format->length;

	return length >= 2 && (bytes[0] & format->mask) == (uint8_t)format->magic[0] &&
	       !memcmp(bytes + 1, format->magic + 1, common - 1);
}

static int64_t tar_unpack_look(struct tar_unpack *unpack)
{
	int64_t n = tar_unpack_fill(unpack, TAR_UNPACK_LOOK);
	const struct tar_unpack_format *format = tar_unpack_formats;

	for (size_t i = 0; n >= 0 && i < sizeof(tar_unpack_formats) / sizeof(*format); i++, format++) {
		if (!tar_unpack_is(format, unpack->input.bytes, (size_t)n))
			continue;
		return (size_t)n < format->shortest ? tar_unpack_failed(unpack, NULL) : format->begin(unpack);
	}
	unpack->read = tar_unpack_plain;
	return n < 0 ? n : 0;
}

int64_t tar_unpack_read(void *argument, void *to, size_t room, const char **reason)
{
	struct tar_unpack *unpack = argument;
	const struct tar_input *input = &unpack->input;
	int64_t n;

	do {
		n = unpack->read ? 0 : tar_unpack_look(unpack);
		if (n == 0)
			n = unpack->read(unpack, to, room);
	} while (n == 0 && !(input->ended && input->at == input->used));
	if (n < 0)
		*reason = unpack->reason;
	return n;
}
