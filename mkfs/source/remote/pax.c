/* SPDX-License-Identifier: MIT */
/* Writes ustar headers, with extended ones of POSIX in front of those that a path or a size does not fit into. */
#include "source/remote/pax.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/memstream.h"

#define PAX_FILE      '0'
#define PAX_FOLDER    '5'
#define PAX_EXTENDED  'x'
#define PAX_NUMBER_MAX UINT64_C(077777777777) /* 11 digits */

/* A header, as POSIX has it. */
struct pax_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct pax_header) == PAX_BLOCK, "a header is a block");

static const char pax_zeros[2 * PAX_BLOCK];

/* Writes octal digits, and a zero byte behind them. */
static void pax_number(char *to, size_t size, uint64_t number)
{
	to[--size] = 0;
	for (; size--; number >>= 3)
		to[size] = (char)('0' + (number & 7));
}

static uint64_t pax_mtime(int64_t mtime)
{
	return mtime < 0 ? 0 : (uint64_t)mtime > PAX_NUMBER_MAX ? PAX_NUMBER_MAX : (uint64_t)mtime;
}

/* Writes the header of an entry that fits into it. */
static int pax_header(const struct pax_entry *entry, char type, pax_sink *sink, void *argument, struct error *err)
{
	struct pax_header header = { .type = type, .magic = "ustar", .version = { '0', '0' } };
	uint64_t sum = 0;

	memcpy(header.name, entry->path, strnlen(entry->path, sizeof(header.name)));
	pax_number(header.mode, sizeof(header.mode), type == PAX_FOLDER ? 0755 : 0644);
	pax_number(header.uid, sizeof(header.uid), 0);
	pax_number(header.gid, sizeof(header.gid), 0);
	pax_number(header.size, sizeof(header.size), entry->size <= PAX_NUMBER_MAX ? entry->size : 0);
	pax_number(header.mtime, sizeof(header.mtime), pax_mtime(entry->mtime));
	memset(header.sum, ' ', sizeof(header.sum));
	for (size_t i = 0; i < sizeof(header); i++)
		sum += ((const uint8_t *)&header)[i];
	pax_number(header.sum, sizeof(header.sum) - 1, sum);
	return sink(argument, &header, sizeof(header), err);
}

/* Writes a record "LENGTH NAME=VALUE\n", whose length counts its own digits. */
static void pax_record(FILE *out, const char *name, const char *value)
{
	size_t rest = strlen(name) + strlen(value) + 3, length = rest + 1;

	while (rest + (size_t)snprintf(NULL, 0, "%zu", length) != length)
		length = rest + (size_t)snprintf(NULL, 0, "%zu", length);
	fprintf(out, "%zu %s=%s\n", length, name, value);
}

static int pax_extended(const struct pax_entry *entry, pax_sink *sink, void *argument, struct error *err)
{
	struct pax_entry extended = { .path = "extended" };
	auto_free char *records = NULL;
	char number[24];
	size_t length;
	FILE *out = memstream_open(&records, &length);
	int r;

	if (!out)
		return error_no_memory(err);
	snprintf(number, sizeof(number), "%" PRIu64, entry->size);
	pax_record(out, "path", entry->path);
	pax_record(out, "size", number);
	r = memstream_close(out, &records, err);
	extended.size = length;
	if (r == 0)
		r = pax_header(&extended, PAX_EXTENDED, sink, argument, err);
	if (r == 0)
		r = sink(argument, records, length, err);
	return r < 0 ? r : pax_pad(length, sink, argument, err);
}

static bool pax_fits(const struct pax_entry *entry)
{
	for (const char *at = entry->path; *at; at++)
		if ((unsigned char)*at >= 0x80)
			return false;
	return strlen(entry->path) < sizeof(((struct pax_header *)0)->name) && entry->size <= PAX_NUMBER_MAX;
}

int pax_begin(const struct pax_entry *entry, pax_sink *sink, void *argument, struct error *err)
{
	bool is_folder = *entry->path && entry->path[strlen(entry->path) - 1] == '/';
	int r = pax_fits(entry) ? 0 : pax_extended(entry, sink, argument, err);

	return r < 0 ? r : pax_header(entry, is_folder ? PAX_FOLDER : PAX_FILE, sink, argument, err);
}

int pax_pad(uint64_t size, pax_sink *sink, void *argument, struct error *err)
{
	size_t rest = (size_t)(size % PAX_BLOCK);

	return rest ? sink(argument, pax_zeros, PAX_BLOCK - rest, err) : 0;
}

int pax_end(pax_sink *sink, void *argument, struct error *err)
{
	return sink(argument, pax_zeros, sizeof(pax_zeros), err);
}
