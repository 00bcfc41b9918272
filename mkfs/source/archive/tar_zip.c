/* SPDX-License-Identifier: MIT */
/* Checks that a zip fills its file. libarchive takes the last directory that it finds, wherever that begins, and would
 * silently leave out other data before or after that archive, another zip for example. An archive whose offsets wrap at
 * 4 GiB, as macOS makes them, becomes several zip64 archives for libarchive: one for each round of the offsets. */
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
#define TAR_ZIP_SEARCH  (TAR_ZIP_END + 65535u)
#define TAR_ZIP_RECORD  46u /* bytes of an entry's record in the directory, before its name */
#define TAR_ZIP_WRAP    (UINT64_C(1) << 32)
#define TAR_ZIP_BEHIND  "lies behind other data in its file, another zip archive for example: " \
			"put each into a file of its own"
#define TAR_ZIP_DAMAGED "has a damaged directory"

/* A zip begins with an entry, the end, or the mark before the first of several parts, even if it is the only one. */
bool tar_zip_begins(const uint8_t *bytes, size_t length)
{
	static const char *const marks[] = { "PK\3\4", "PK\5\6", "PK\7\10", "PK00" };

	for (size_t i = 0; length >= 4 && i < sizeof(marks) / sizeof(*marks); i++)
		if (!memcmp(bytes, marks[i], 4))
			return true;
	return false;
}

/* The sum of all bytes, with spaces for the sum itself, is at 148 in octal. */
bool tar_zip_is_tar(const uint8_t *bytes, size_t length)
{
	char text[9] = { 0 };
	unsigned long sum = 0;

	if (length < TAR_ZIP_LOOK)
		return false;
	memcpy(text, bytes + 148, 8);
	for (size_t i = 0; i < TAR_ZIP_LOOK; i++)
		sum += i >= 148 && i < 156 ? ' ' : bytes[i];
	return strtoul(text, NULL, 8) == sum;
}

bool tar_zip_is_program(const uint8_t *bytes, size_t length)
{
	static const char *const marks[] = { "MZ", "\177ELF", "#!" };

	for (size_t i = 0; length >= 4 && i < sizeof(marks) / sizeof(*marks); i++)
		if (!memcmp(bytes, marks[i], strlen(marks[i])))
			return !tar_zip_is_tar(bytes, length);
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

int64_t tar_zip_spool(tar_input_source source, void *argument, int to, const char **reason)
{
	uint8_t *buffer = malloc(TAR_ZIP_BUFFER);
	bool kept = buffer && lseek(to, 0, SEEK_SET) == 0;
	int64_t size = 0, n = 1;

	while (kept && n > 0) {
		n = source(argument, buffer, TAR_ZIP_BUFFER, reason);
		size += n > 0 ? n : 0;
		kept = n <= 0 || transfer_write(to, buffer, (size_t)n) == 0;
	}
	if (!buffer)
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

static int tar_zip_failed(const char *why, const char **reason)
{
	*reason = why;
	return -1;
}

/* Leaves out the bytes before the archive, which belong to a program that does not count in offsets. */
static void tar_zip_leave_out(struct tar_zip *zip, uint64_t length)
{
	zip->base += length;
	zip->size -= length;
	zip->directory -= length;
	zip->directory_end -= length;
}

/* Checks that the directory lies directly before its end, at the offset that the end gives. */
static int tar_zip_check_place(struct tar_zip *zip, uint64_t end, uint64_t offset, uint64_t length,
			       const char **reason)
{
	uint64_t place = end - length;

	if (length > end)
		return tar_zip_failed(TAR_ZIP_BEHIND, reason);
	zip->directory = place;
	zip->directory_end = end;
	if (offset == place)
		return 0;
	zip->is_wrapped = !zip->is_wide && !zip->is_program && place > offset && (place - offset) % TAR_ZIP_WRAP == 0;
	if (zip->is_wrapped)
		return 0;
	if (!zip->is_program || offset > place)
		return tar_zip_failed(TAR_ZIP_BEHIND, reason);
	tar_zip_leave_out(zip, place - offset);
	return 0;
}

/* Checks the end of zip64 that the locator, which lies at place, leads to. A program may have moved it. */
static int tar_zip_check_wide(struct tar_zip *zip, const uint8_t *locator, uint64_t place, const char **reason)
{
	uint64_t at = zip->is_program && place >= TAR_ZIP_WIDE ? place - TAR_ZIP_WIDE : tar_zip_number(locator + 8, 8);
	uint8_t end[TAR_ZIP_WIDE];

	if (tar_zip_read_at(zip, at, end, sizeof(end)) != sizeof(end) || memcmp(end, "PK\6\6", 4) != 0)
		return tar_zip_failed(TAR_ZIP_BEHIND, reason);
	zip->entries = tar_zip_number(end + 32, 8);
	zip->is_wide = true;
	return tar_zip_check_place(zip, at, tar_zip_number(end + 48, 8), tar_zip_number(end + 40, 8), reason);
}

/* Checks the end at tail + i; tail has the last length bytes of the file. */
static int tar_zip_check_end(struct tar_zip *zip, const uint8_t *tail, size_t i, size_t length, const char **reason)
{
	const uint8_t *end = tail + i;
	uint64_t at = zip->size - length + i;
	int r;

	if (tar_zip_number(end + 4, 2) || tar_zip_number(end + 6, 2)) { /* numbers of parts */
		*reason = TAR_ZIP_PARTS;
		return -1;
	}
	zip->entries = tar_zip_number(end + 10, 2);
	if (i >= TAR_ZIP_LOCATOR && !memcmp(end - TAR_ZIP_LOCATOR, "PK\6\7", 4)) {
		r = tar_zip_check_wide(zip, end - TAR_ZIP_LOCATOR, at - TAR_ZIP_LOCATOR, reason);
	} else {
		zip->is_empty = !tar_zip_number(end + 12, 4);
		r = tar_zip_check_place(zip, at, tar_zip_number(end + 16, 4), tar_zip_number(end + 12, 4), reason);
	}
	return r;
}

/* Returns the reason of a file without an end: it is cut off, or the first of several parts. */
static const char *tar_zip_no_end(struct tar_zip *zip)
{
	uint8_t head[4];
	bool is_part = tar_zip_read_at(zip, 0, head, sizeof(head)) == sizeof(head) &&
		       !memcmp(head, "PK\7\10", sizeof(head));

	return is_part ? TAR_ZIP_PARTS : zip->is_program ? TAR_UNPACK_UNKNOWN : TAR_UNPACK_CUT;
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
	const struct tar_zip before = *zip;

	for (size_t i = length < TAR_ZIP_END ? 0 : length - TAR_ZIP_END + 1; i-- > 0;) {
		if (memcmp(tail + i, "PK\5\6", 4) != 0)
			continue;
		if (!tar_zip_ends_at(tail, i, length)) {
			why = "does not end where its file ends: what follows it is not part of a zip archive";
		} else if (tar_zip_check_end(zip, tail, i, length, &why) == 0) {
			zip->size -= length - i - TAR_ZIP_END;
			return 0;
		}
		*zip = before;
		last = last ? last : why;
	}
	*reason = last ? last : tar_zip_no_end(zip);
	return -1;
}

/* Fills the buffer with the bytes before a place in the file. Returns how many they are; 0 with a reason. */
static size_t tar_zip_read_before(struct tar_zip *zip, uint64_t end, const char **reason)
{
	size_t length = end < TAR_ZIP_SEARCH ? (size_t)end : TAR_ZIP_SEARCH;

	if (length && lseek(zip->fd, (off_t)(end - length), SEEK_SET) >= 0 &&
	    transfer_read(zip->fd, zip->buffer, length) == (int64_t)length)
		return length;
	*reason = "cannot be read";
	return 0;
}

/* Checks that no other archive ends between the program and the first entry. */
static int tar_zip_check_program(struct tar_zip *zip, const char **reason)
{
	uint8_t record[TAR_ZIP_RECORD];
	size_t length;

	if (tar_zip_read_at(zip, zip->directory, record, sizeof(record)) != sizeof(record))
		return tar_zip_failed(TAR_ZIP_DAMAGED, reason);
	length = tar_zip_read_before(zip, zip->base + tar_zip_number(record + 42, 4), reason);
	for (size_t i = 0; i + TAR_ZIP_END <= length; i++)
		if (!memcmp(zip->buffer + i, "PK\5\6", 4) && tar_zip_ends_at(zip->buffer, i, length))
			return tar_zip_failed(TAR_ZIP_BEHIND, reason);
	return 0;
}

static int tar_zip_check(struct tar_zip *zip, const char **reason)
{
	size_t length = tar_zip_read_before(zip, zip->base + zip->size, reason);
	int r = length ? tar_zip_find_end(zip, length, reason) : -1;

	return r < 0 || !zip->is_program || zip->is_empty ? r : tar_zip_check_program(zip, reason);
}

int tar_zip_open(struct tar_zip *zip, int fd, uint64_t base, uint64_t size, bool is_program, const char **reason)
{
	*zip = (struct tar_zip){ .fd = fd, .base = base, .size = size, .is_program = is_program,
				 .buffer = malloc(TAR_ZIP_BUFFER) };
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

/* --- parts --- */

/* Reads the record of the directory at this place into the buffer, which has *from to *to of the archive. Returns it;
 * NULL with a reason. */
static const uint8_t *tar_zip_record(struct tar_zip *zip, uint64_t at, uint64_t *from, uint64_t *to,
				     const char **reason)
{
	int64_t n;

	if (at < *from || at + TAR_ZIP_RECORD > *to) {
		n = tar_zip_read_at(zip, at, zip->buffer, TAR_ZIP_BUFFER);
		*from = at;
		*to = at + (n > 0 ? (uint64_t)n : 0);
	}
	if (at + TAR_ZIP_RECORD <= *to && !memcmp(zip->buffer + (at - *from), "PK\1\2", 4))
		return zip->buffer + (at - *from);
	*reason = TAR_ZIP_DAMAGED;
	return NULL;
}

/* Moves slice_end behind the records whose offsets ascend. */
static int tar_zip_find_slice(struct tar_zip *zip, uint64_t *ret_count, const char **reason)
{
	uint64_t from = 0, to = 0, last = 0, offset;
	const uint8_t *record;

	for (*ret_count = 0; zip->slice_end < zip->directory_end; ++*ret_count) {
		record = tar_zip_record(zip, zip->slice_end, &from, &to, reason);
		if (!record)
			return -1;
		offset = tar_zip_number(record + 42, 4);
		if (offset < last)
			break;
		last = offset;
		zip->slice_end += TAR_ZIP_RECORD + tar_zip_number(record + 28, 2) + tar_zip_number(record + 30, 2) +
				  tar_zip_number(record + 32, 2);
	}
	return zip->slice_end > zip->directory_end ? tar_zip_failed(TAR_ZIP_DAMAGED, reason) : 0;
}

static void tar_zip_put(uint8_t *to, uint64_t number, size_t length)
{
	number = htole64(number);
	memcpy(to, &number, length);
}

/* Makes the ends of a zip64 archive whose directory, of so many records, is the slice. */
static void tar_zip_make_tail(struct tar_zip *zip, uint64_t count)
{
	uint64_t length = zip->slice_end - zip->slice, at = zip->directory - zip->shift;
	uint8_t *wide = zip->tail, *locator = wide + TAR_ZIP_WIDE, *end = locator + TAR_ZIP_LOCATOR;

	memset(zip->tail, 0, sizeof(zip->tail));
	memcpy(wide, "PK\6\6", 4);
	tar_zip_put(wide + 4, TAR_ZIP_WIDE - 12, 8);
	tar_zip_put(wide + 24, count, 8);
	tar_zip_put(wide + 32, count, 8);
	tar_zip_put(wide + 40, length, 8);
	tar_zip_put(wide + 48, at, 8);
	memcpy(locator, "PK\6\7", 4);
	tar_zip_put(locator + 8, at + length, 8);
	tar_zip_put(locator + 16, 1, 4);
	memcpy(end, "PK\5\6", 4);
	memset(end + 8, 0xff, 12);
}

int tar_zip_next(struct tar_zip *zip, const char **reason)
{
	uint64_t count;

	zip->shift += zip->slice_end ? TAR_ZIP_WRAP : 0;
	zip->slice = zip->slice_end ? zip->slice_end : zip->directory;
	zip->at = 0;
	if (zip->is_empty || zip->slice == zip->directory_end)
		return 0;
	zip->slice_end = zip->is_wrapped ? zip->slice : zip->directory_end;
	if (!zip->is_wrapped)
		return 1;
	if (zip->shift > zip->directory)
		return tar_zip_failed(TAR_ZIP_DAMAGED, reason);
	if (tar_zip_find_slice(zip, &count, reason) < 0)
		return -1;
	tar_zip_make_tail(zip, count);
	return 1;
}

/* --- for libarchive --- */

/* Returns the number of bytes of the current part. */
static uint64_t tar_zip_length(const struct tar_zip *zip)
{
	if (!zip->is_wrapped)
		return zip->size;
	return zip->directory - zip->shift + (zip->slice_end - zip->slice) + sizeof(zip->tail);
}

/* Reads the next bytes of the part into the buffer. */
static int64_t tar_zip_read_part(struct tar_zip *zip)
{
	uint64_t contents = zip->directory - zip->shift, records = zip->slice_end - zip->slice, left = TAR_ZIP_BUFFER;

	if (!zip->is_wrapped)
		return tar_zip_read_at(zip, zip->at, zip->buffer, TAR_ZIP_BUFFER);
	if (zip->at < contents) {
		left = contents - zip->at < left ? contents - zip->at : left;
		return tar_zip_read_at(zip, zip->shift + zip->at, zip->buffer, (size_t)left);
	}
	if (zip->at < contents + records) {
		left = contents + records - zip->at < left ? contents + records - zip->at : left;
		return tar_zip_read_at(zip, zip->slice + (zip->at - contents), zip->buffer, (size_t)left);
	}
	left = tar_zip_length(zip) - zip->at;
	memcpy(zip->buffer, zip->tail + (sizeof(zip->tail) - left), left);
	return (int64_t)left;
}

static la_ssize_t tar_zip_give(struct archive *archive, void *argument, const void **ret)
{
	struct tar_zip *zip = argument;
	int64_t n = tar_zip_read_part(zip);

	if (n < 0)
		archive_set_error(archive, EIO, "%s", strerror(errno));
	zip->at += n > 0 ? (uint64_t)n : 0;
	*ret = zip->buffer;
	return (la_ssize_t)n;
}

static la_int64_t tar_zip_skip(struct archive *archive, void *argument, la_int64_t length)
{
	struct tar_zip *zip = argument;
	uint64_t left = tar_zip_length(zip) - zip->at, step = (uint64_t)length < left ? (uint64_t)length : left;

	(void)archive;
	zip->at += step;
	return (la_int64_t)step;
}

static la_int64_t tar_zip_seek(struct archive *archive, void *argument, la_int64_t offset, int whence)
{
	struct tar_zip *zip = argument;
	int64_t length = (int64_t)tar_zip_length(zip), to;
	int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)zip->at : length;

	(void)archive;
	if (__builtin_add_overflow(from, offset, &to) || to < 0 || to > length)
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
