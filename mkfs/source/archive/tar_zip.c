/* SPDX-License-Identifier: MIT */
/* Checks that a zip fills its file. libarchive takes the last directory that it finds, wherever that begins, and would
 * silently leave out other data before or after that archive, another zip for example. */
#include "source/archive/tar_zip.h"

#include <errno.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/transfer.h"
#include "source/archive/tar_unpack.h"

#define TAR_ZIP_BUFFER  (128u << 10)
#define TAR_ZIP_END     22u /* bytes of the end of the directory, before its comment */
#define TAR_ZIP_LOCATOR 20u /* bytes of the zip64 locator, in front of the end */
#define TAR_ZIP_WIDE    56u /* bytes of the zip64 end */
#define TAR_ZIP_TAIL    (TAR_ZIP_END + 65535u)
#define TAR_ZIP_PARTS   "is one of several parts: join them first, as by 'zip -s 0 ARCHIVE.zip --out WHOLE.zip'"

/* A zip begins with an entry, the end, or the mark before the first of several parts, even if it is the only one. */
bool tar_zip_begins(const uint8_t *bytes, size_t length)
{
	static const char marks[][TAR_ZIP_LOOK + 1] = { "PK\3\4", "PK\5\6", "PK\7\10", "PK00" };

	for (size_t i = 0; length >= TAR_ZIP_LOOK && i < sizeof(marks) / sizeof(*marks); i++)
		if (!memcmp(bytes, marks[i], TAR_ZIP_LOOK))
			return true;
	return false;
}

uint64_t tar_zip_file_size(int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR), end = at < 0 ? -1 : lseek(fd, 0, SEEK_END);

	return end > 0 && lseek(fd, at, SEEK_SET) == at ? (uint64_t)end : 0;
}

static const char *tar_zip_spool_reason(int code)
{
	if (code == ENOSPC)
		return "temporary files (see --temp-dir), where a zip from a pipe goes first: No space left on device";
	if (code == EFBIG)
		return "goes to a temporary file first, as a zip from a pipe, and is larger than the limit of files "
		       "(ulimit -f)";
	return "cannot be kept in a temporary file, where a zip from a pipe goes first";
}

int64_t tar_zip_spool(int from, const uint8_t *head, int to, const char **reason)
{
	uint8_t *buffer = malloc(TAR_ZIP_BUFFER);
	int64_t size = TAR_ZIP_LOOK;
	ssize_t n = 1;
	bool kept = buffer && lseek(to, 0, SEEK_SET) == 0 && transfer_write(to, head, TAR_ZIP_LOOK) == 0;

	while (kept && n > 0) {
		n = transfer_read(from, buffer, TAR_ZIP_BUFFER);
		size += n > 0 ? n : 0;
		kept = n <= 0 || transfer_write(to, buffer, (size_t)n) == 0;
	}
	if (n < 0)
		*reason = strerror(errno);
	else if (!buffer)
		*reason = "out of memory";
	else if (!kept)
		*reason = tar_zip_spool_reason(errno);
	free(buffer);
	return kept && n == 0 ? size : -1;
}

/* --- the end of the directory --- */

static uint64_t tar_zip_number(const uint8_t *bytes, size_t length)
{
	uint64_t number = 0;

	memcpy(&number, bytes, length);
	return le64toh(number);
}

static int64_t tar_zip_read_at(struct tar_zip *zip, uint64_t at, void *to, size_t room)
{
	if (at > zip->size || lseek(zip->fd, (off_t)(zip->base + at), SEEK_SET) < 0)
		return -1;
	room = zip->size - at < room ? (size_t)(zip->size - at) : room;
	return transfer_read(zip->fd, to, room);
}

/* Checks that the directory lies directly before its end, at the offset that the end gives. */
static int tar_zip_check_place(uint64_t end, uint64_t offset, uint64_t length, const char **reason)
{
	if (length <= end && offset == end - length)
		return 0;
	*reason = "lies behind other data in its file, another zip archive for example: "
		  "put each into a file of its own";
	return -1;
}

static int tar_zip_check_wide(struct tar_zip *zip, const uint8_t *locator, const char **reason)
{
	uint64_t at = tar_zip_number(locator + 8, 8);
	uint8_t end[TAR_ZIP_WIDE];

	if (tar_zip_read_at(zip, at, end, sizeof(end)) != sizeof(end) || memcmp(end, "PK\6\6", 4) != 0)
		return tar_zip_check_place(0, 1, 0, reason);
	zip->entries = tar_zip_number(end + 32, 8);
	zip->is_wide = true;
	return tar_zip_check_place(at, tar_zip_number(end + 48, 8), tar_zip_number(end + 40, 8), reason);
}

/* Checks the end at tail + i; tail has the last length bytes of the file. */
static int tar_zip_check_end(struct tar_zip *zip, const uint8_t *tail, size_t i, size_t length, const char **reason)
{
	const uint8_t *end = tail + i;

	if (tar_zip_number(end + 4, 2) || tar_zip_number(end + 6, 2)) { /* numbers of parts */
		*reason = TAR_ZIP_PARTS;
		return -1;
	}
	zip->entries = tar_zip_number(end + 10, 2);
	if (i >= TAR_ZIP_LOCATOR && !memcmp(end - TAR_ZIP_LOCATOR, "PK\6\7", 4))
		return tar_zip_check_wide(zip, end - TAR_ZIP_LOCATOR, reason);
	zip->is_empty = !tar_zip_number(end + 12, 4);
	return tar_zip_check_place(zip->size - length + i, tar_zip_number(end + 16, 4), tar_zip_number(end + 12, 4),
				   reason);
}

/* Returns the reason of a file without an end: it is cut off, or the first of several parts. */
static const char *tar_zip_no_end(struct tar_zip *zip)
{
	uint8_t head[TAR_ZIP_LOOK];
	bool is_part = tar_zip_read_at(zip, 0, head, sizeof(head)) == sizeof(head) &&
		       !memcmp(head, "PK\7\10", sizeof(head));

	return is_part ? TAR_ZIP_PARTS : TAR_UNPACK_CUT;
}

/* Returns whether the end at i reaches to the end of the file, except for zeros, as bsdtar adds in a pipe. */
static bool tar_zip_ends_at(const uint8_t *tail, size_t i, size_t length)
{
	size_t end = i + TAR_ZIP_END + tar_zip_number(tail + i + 20, 2);

	while (end < length && !tail[end])
		end++;
	return end == length;
}

/* Finds the end of the directory; a comment may look like one. Hides the comment from libarchive, which does not find
 * an end before a long comment. */
static int tar_zip_find_end(struct tar_zip *zip, size_t length, const char **reason)
{
	const uint8_t *tail = zip->buffer;
	const char *why, *last = NULL; /* last: the reason of the last end in the file */

	for (size_t i = length < TAR_ZIP_END ? 0 : length - TAR_ZIP_END + 1; i-- > 0;) {
		if (memcmp(tail + i, "PK\5\6", 4) != 0)
			continue;
		if (!tar_zip_ends_at(tail, i, length)) {
			why = "does not end where its file ends: what follows it is not part of a zip archive";
		} else if (tar_zip_check_end(zip, tail, i, length, &why) == 0) {
			zip->size -= length - i - TAR_ZIP_END;
			return 0;
		}
		last = last ? last : why;
	}
	*reason = last ? last : tar_zip_no_end(zip);
	return -1;
}

static int tar_zip_check(struct tar_zip *zip, const char **reason)
{
	size_t length = zip->size < TAR_ZIP_TAIL ? (size_t)zip->size : TAR_ZIP_TAIL;

	if (tar_zip_read_at(zip, zip->size - length, zip->buffer, length) == (int64_t)length)
		return tar_zip_find_end(zip, length, reason);
	*reason = "cannot be read";
	return -1;
}

int tar_zip_open(struct tar_zip *zip, int fd, uint64_t base, uint64_t size, const char **reason)
{
	*zip = (struct tar_zip){ .fd = fd, .base = base, .size = size, .buffer = malloc(TAR_ZIP_BUFFER) };
	if (zip->buffer)
		return tar_zip_check(zip, reason);
	*reason = "out of memory";
	return -1;
}

void tar_zip_close(struct tar_zip *zip)
{
	free(zip->buffer);
	*zip = (struct tar_zip){ 0 };
}

bool tar_zip_has(const struct tar_zip *zip, uint64_t entries)
{
	return entries == zip->entries || (!zip->is_wide && entries % 65536 == zip->entries);
}

/* --- for libarchive --- */

static la_ssize_t tar_zip_give(struct archive *archive, void *argument, const void **ret)
{
	struct tar_zip *zip = argument;
	int64_t n = tar_zip_read_at(zip, zip->at, zip->buffer, TAR_ZIP_BUFFER);

	if (n < 0)
		archive_set_error(archive, EIO, "%s", strerror(errno));
	zip->at += n > 0 ? (uint64_t)n : 0;
	*ret = zip->buffer;
	return (la_ssize_t)n;
}

static la_int64_t tar_zip_skip(struct archive *archive, void *argument, la_int64_t length)
{
	struct tar_zip *zip = argument;
	uint64_t left = zip->size - zip->at, step = (uint64_t)length < left ? (uint64_t)length : left;

	(void)archive;
	zip->at += step;
	return (la_int64_t)step;
}

static la_int64_t tar_zip_seek(struct archive *archive, void *argument, la_int64_t offset, int whence)
{
	struct tar_zip *zip = argument;
	int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)zip->at : (int64_t)zip->size, to;

	(void)archive;
	if (__builtin_add_overflow(from, offset, &to) || to < 0 || (uint64_t)to > zip->size)
		return ARCHIVE_FATAL;
	zip->at = (uint64_t)to;
	return to;
}

int tar_zip_attach(struct tar_zip *zip, struct archive *archive)
{
	archive_read_set_callback_data(archive, zip);
	archive_read_set_read_callback(archive, tar_zip_give);
	archive_read_set_skip_callback(archive, tar_zip_skip);
	archive_read_set_seek_callback(archive, tar_zip_seek);
	return archive_read_open1(archive);
}
