/* SPDX-License-Identifier: MIT */
/* Unpacks gzip with zlib, because libarchive does not check its checksums; bzip2, xz and zstd with libarchive's
 * filters. The first bytes tell the format; unknown data is passed on unchanged. */
#include "source/archive/tar_unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define TAR_UNPACK_BUFFER (256u << 10)
#define TAR_UNPACK_LOOK   6u /* bytes of the longest magic number */
#define TAR_UNPACK_GZIP   (16 + MAX_WBITS)

struct tar_unpack {
	tar_unpack_source source;
	void *argument;
	const char *reason; /* why the source failed */
	uint8_t *in;        /* what was read and not used */
	size_t at, used;
	int64_t (*read)(struct tar_unpack *unpack, void *to, size_t room); /* NULL: nobody looked yet */
	z_stream zlib;
	bool has_zlib, in_member, ended;
	struct archive *archive;
};

struct tar_unpack *tar_unpack_open(tar_unpack_source source, void *argument)
{
	struct tar_unpack *unpack = calloc(1, sizeof(*unpack));

	if (!unpack)
		return NULL;
	unpack->source = source;
	unpack->argument = argument;
	unpack->in = malloc(TAR_UNPACK_BUFFER);
	if (unpack->in)
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
	free(unpack->in);
	free(unpack);
}

static int64_t tar_unpack_failed(struct tar_unpack *unpack, const char *reason)
{
	unpack->reason = reason ? reason : "no reason was given";
	return -1;
}

/* Reads until wanted bytes are there, or to the end; returns how many there are. */
static int64_t tar_unpack_fill(struct tar_unpack *unpack, size_t wanted)
{
	int64_t n = 1;

	memmove(unpack->in, unpack->in + unpack->at, unpack->used - unpack->at);
	unpack->used -= unpack->at;
	unpack->at = 0;
	while (n > 0 && unpack->used < wanted) {
		n = unpack->source(unpack->argument, unpack->in + unpack->used, TAR_UNPACK_BUFFER - unpack->used,
				   &unpack->reason);
		unpack->used += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? n : (int64_t)unpack->used;
}

/* --- as it is --- */

static int64_t tar_unpack_plain(struct tar_unpack *unpack, void *to, size_t room)
{
	size_t step = unpack->used - unpack->at < room ? unpack->used - unpack->at : room;

	if (!step)
		return unpack->source(unpack->argument, to, room, &unpack->reason);
	memcpy(to, unpack->in + unpack->at, step);
	unpack->at += step;
	return (int64_t)step;
}

/* --- gzip --- */

static bool tar_unpack_is_gzip(const struct tar_unpack *unpack)
{
	return unpack->used - unpack->at >= 2 && unpack->in[unpack->at] == 0x1f && unpack->in[unpack->at + 1] == 0x8b;
}

/* Begins the next gzip member: 1; 0: there is none, and what follows is padding. */
static int64_t tar_unpack_member(struct tar_unpack *unpack)
{
	int64_t n = tar_unpack_fill(unpack, 2);

	if (n < 0)
		return n;
	unpack->in_member = tar_unpack_is_gzip(unpack);
	unpack->ended = !unpack->in_member;
	if (unpack->in_member && inflateReset(&unpack->zlib) != Z_OK)
		return tar_unpack_failed(unpack, "out of memory");
	return unpack->in_member;
}

/* Decompresses what there is of the member. */
static int64_t tar_unpack_inflate(struct tar_unpack *unpack, void *to, size_t room)
{
	int64_t n = unpack->at < unpack->used ? 1 : tar_unpack_fill(unpack, 1);
	int code;

	if (n <= 0)
		return n < 0 ? n : tar_unpack_failed(unpack, "the gzip data is cut off");
	unpack->zlib.next_in = unpack->in + unpack->at;
	unpack->zlib.avail_in = (uInt)(unpack->used - unpack->at);
	unpack->zlib.next_out = to;
	unpack->zlib.avail_out = (uInt)room;
	code = inflate(&unpack->zlib, Z_NO_FLUSH);
	if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
		return tar_unpack_failed(unpack, unpack->zlib.msg ? unpack->zlib.msg : "out of memory");
	unpack->at = unpack->used - unpack->zlib.avail_in;
	unpack->in_member = code != Z_STREAM_END;
	return (int64_t)(room - unpack->zlib.avail_out);
}

static int64_t tar_unpack_gzip(struct tar_unpack *unpack, void *to, size_t room)
{
	int64_t n = 0;

	while (n == 0 && !unpack->ended) {
		if (!unpack->in_member)
			n = tar_unpack_member(unpack);
		if (n >= 0 && unpack->in_member)
			n = tar_unpack_inflate(unpack, to, room);
	}
	return n;
}

/* --- libarchive's filters --- */

static la_ssize_t tar_unpack_input(struct archive *archive, void *argument, const void **ret)
{
	struct tar_unpack *unpack = argument;
	int64_t n = unpack->at < unpack->used ? (int64_t)(unpack->used - unpack->at) :
						tar_unpack_fill(unpack, 1);

	*ret = unpack->in + unpack->at;
	unpack->at = unpack->used;
	if (n < 0)
		archive_set_error(archive, EIO, "%s", unpack->reason);
	return n;
}

static int64_t tar_unpack_filter(struct tar_unpack *unpack, void *to, size_t room)
{
	int64_t n = archive_read_data(unpack->archive, to, room);

	return n < 0 ? tar_unpack_failed(unpack, archive_error_string(unpack->archive)) : n;
}

/* Lets libarchive decompress only: it takes the result as raw content, or as empty. */
static int64_t tar_unpack_begin_filter(struct tar_unpack *unpack, int (*support)(struct archive *archive))
{
	struct archive *archive = unpack->archive = archive_read_new();
	struct archive_entry *entry;
	int code;

	unpack->read = tar_unpack_filter;
	if (!archive || support(archive) != ARCHIVE_OK || archive_read_support_format_raw(archive) != ARCHIVE_OK ||
	    archive_read_support_format_empty(archive) != ARCHIVE_OK)
		return tar_unpack_failed(unpack, "libarchive cannot decompress what it needs to");
	code = archive_read_open(archive, unpack, NULL, tar_unpack_input, NULL);
	if (code == ARCHIVE_OK)
		code = archive_read_next_header(archive, &entry);
	if (code != ARCHIVE_OK && code != ARCHIVE_EOF)
		return tar_unpack_failed(unpack, archive_error_string(archive));
	return 0;
}

static int64_t tar_unpack_begin_gzip(struct tar_unpack *unpack)
{
	unpack->read = tar_unpack_gzip;
	unpack->has_zlib = inflateInit2(&unpack->zlib, TAR_UNPACK_GZIP) == Z_OK;
	return unpack->has_zlib ? 0 : tar_unpack_failed(unpack, "out of memory");
}

static int64_t tar_unpack_look(struct tar_unpack *unpack)
{
	int64_t n = tar_unpack_fill(unpack, TAR_UNPACK_LOOK);

	if (n < 0)
		return n;
	if (tar_unpack_is_gzip(unpack))
		return tar_unpack_begin_gzip(unpack);
	if (n >= 3 && !memcmp(unpack->in, "BZh", 3))
		return tar_unpack_begin_filter(unpack, archive_read_support_filter_bzip2);
	if (n >= 6 && !memcmp(unpack->in, "\xfd" "7zXZ", 6))
		return tar_unpack_begin_filter(unpack, archive_read_support_filter_xz);
	if (n >= 4 && !memcmp(unpack->in, "\x28\xb5\x2f\xfd", 4))
		return tar_unpack_begin_filter(unpack, archive_read_support_filter_zstd);
	unpack->read = tar_unpack_plain;
	return 0;
}

int64_t tar_unpack_read(void *argument, void *to, size_t room, const char **reason)
{
	struct tar_unpack *unpack = argument;
	int64_t n = unpack->read ? 0 : tar_unpack_look(unpack);

	if (n == 0)
		n = unpack->read(unpack, to, room);
	if (n < 0)
		*reason = unpack->reason;
	return n;
}
