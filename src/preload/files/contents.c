/* SPDX-License-Identifier: MIT */
/* Reads straight into the program's buffer when it asks for the whole file first, as most programs do. Otherwise the
 * bytes are kept until the file is closed, as more reads will come. */
#include "preload/files/contents.h"

#include <stdlib.h>
#include <string.h>

#include "preload/process/private.h"
#include "preload/process/report.h"
#include "read/op.h"

#define CONTENTS_MOST (UINT64_C(64) << 20) /* bytes that are kept at most */

static void *_Atomic kept; /* an _Atomic uint64_t: bytes that are kept now */

static _Atomic uint64_t *contents_kept(void)
{
	return kept;
}

bool contents_make(void)
{
	return private_new(&kept, sizeof(_Atomic uint64_t));
}

/* Reads the file in parts that one thread can read alone, as no others may be started here. */
static bool contents_fetch(const struct table_file *file, uint8_t *buffer)
{
	struct error why;

	for (uint64_t at = 0; at < file->size; at += READ_MAX) {
		struct dsfs_read read = { .id = file->id, .offset = at, .buffer = buffer + at };

		read.size = file->size - at < READ_MAX ? file->size - at : READ_MAX;
		error_clear(&why);
		if (file->opened->backend->read_many(file->opened, &read, 1, NULL, &why) < 0 ||
		    read.result != (int64_t)read.size)
			return false;
	}
	report_fetched(file->size);
	return true;
}

/* Takes memory within the limit: a program may read the beginnings of many files, and leave them open. */
static uint8_t *contents_room(uint64_t size)
{
	uint64_t others = atomic_fetch_add(contents_kept(), size);
	uint8_t *room = others + size <= CONTENTS_MOST ? malloc(size + 1) : NULL;

	if (!room)
		atomic_fetch_sub(contents_kept(), size);
	return room;
}

void contents_free(struct table_file *file)
{
	if (!file->contents)
		return;
	atomic_fetch_sub(contents_kept(), file->size);
	free(file->contents);
	file->contents = NULL;
}

const uint8_t *contents_load(struct table_file *file)
{
	if (file->contents)
		return file->contents;
	file->contents = contents_room(file->size);
	if (file->contents && !contents_fetch(file, file->contents))
		contents_free(file);
	return file->contents;
}

ssize_t contents_read(struct table_file *file, void *buffer, size_t size, uint64_t offset)
{
	const uint8_t *contents;

	if (offset >= file->size || !size)
		return 0;
	if (size > file->size - offset)
		size = file->size - offset;
	if (!file->contents && size == file->size)
		return contents_fetch(file, buffer) ? (ssize_t)size : -1;
	contents = contents_load(file);
	if (!contents)
		return -1;
	memcpy(buffer, contents + offset, size);
	return (ssize_t)size;
}
