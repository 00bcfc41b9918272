/* SPDX-License-Identifier: MIT */
/* Walks over the blocks of headers that belong to one entry. As in GNU tar, a global header counts more than the fields
 * of an entry's block, less than its PAX header, and until the next global one. Keys that would give all entries one
 * name or size are refused. */
#include "source/archive/tar_global.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAR_GLOBAL_BLOCK 512u

/* A record of a PAX header: "LENGTH KEY=VALUE\n". The strings do not end with a zero byte. */
struct tar_global_record {
	const char *key, *value;
	size_t key_length, value_length;
};

static const char *const tar_global_names[TAR_GLOBAL_KEYS] = { "uid", "gid", "mtime" };

static int tar_global_damaged(struct tar_global *global)
{
	snprintf(global->reason, sizeof(global->reason), "has a damaged PAX header");
	return -1;
}

static bool tar_global_is(const struct tar_global_record *record, const char *key)
{
	return record->key_length == strlen(key) && !memcmp(record->key, key, record->key_length);
}

/* Takes the record at *at, and moves *at behind it. */
static bool tar_global_next(const char *body, size_t length, size_t *at, struct tar_global_record *ret)
{
	const char *start = body + *at, *key, *equals;
	size_t size = 0, left = length - *at, digits = 0;

	for (; digits < left && digits < 8 && start[digits] >= '0' && start[digits] <= '9'; digits++)
		size = 10 * size + (size_t)(start[digits] - '0');
	if (size < digits + 3 || size > left || start[digits] != ' ' || start[size - 1] != '\n')
		return false;
	key = start + digits + 1;
	equals = memchr(key, '=', size - digits - 2);
	if (!equals)
		return false;
	*ret = (struct tar_global_record){ key, equals + 1, (size_t)(equals - key),
					   (size_t)(start + size - 1 - (equals + 1)) };
	*at += size;
	return true;
}

/* Refuses what would change more than the attributes of entries. */
static int tar_global_refuse(struct tar_global *global, const struct tar_global_record *record)
{
	static const char *const keys[] = { "path", "linkpath", "size", "GNU.sparse.", "SCHILY.realsize",
					    "SCHILY.xattr.", "LIBARCHIVE.xattr." };
	size_t shown = record->key_length < 60 ? record->key_length : 60;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		bool is_prefix = keys[i][strlen(keys[i]) - 1] == '.';

		if (!tar_global_is(record, keys[i]) && !(is_prefix && record->key_length > strlen(keys[i]) &&
							 !memcmp(record->key, keys[i], strlen(keys[i]))))
			continue;
		snprintf(global->reason, sizeof(global->reason), "has a global header with '%.*s' for all entries: "
			 "unpack it with tar, and pack the directory", (int)shown, record->key);
		return -1;
	}
	return 0;
}

/* Parses seconds with a fraction as libarchive does, which does not apply the sign to the fraction. */
static int tar_global_value(struct tar_global *global, enum tar_global_key key, const struct tar_global_record *record)
{
	char text[64] = { 0 }, *end, *fraction;
	uint32_t nanoseconds = 0, digit = 100000000;

	if (!record->value_length || record->value_length >= sizeof(text))
		return tar_global_damaged(global);
	global->has[key] = true;
	memcpy(text, record->value, record->value_length);
	global->value[key] = strtoll(text, &end, 10);
	if (key != TAR_GLOBAL_MTIME)
		return *end || end == text || global->value[key] < 0 ? tar_global_damaged(global) : 0;
	fraction = end + (*end == '.');
	for (end = fraction; *end >= '0' && *end <= '9'; end++, digit /= 10)
		nanoseconds += (uint32_t)(*end - '0') * digit;
	global->nanoseconds = nanoseconds;
	return *end ? tar_global_damaged(global) : 0;
}

static int tar_global_take(struct tar_global *global, const struct tar_global_record *record)
{
	if (tar_global_is(record, "GNU.volume.offset"))
		global->is_volume = true;
	for (unsigned key = 0; key < TAR_GLOBAL_KEYS; key++)
		if (tar_global_is(record, tar_global_names[key]))
			return tar_global_value(global, (enum tar_global_key)key, record);
	return tar_global_refuse(global, record);
}

/* Reads the records of a header: global ones are taken, of an entry's own only the keys count, in own. */
static int tar_global_read(struct tar_global *global, const char *body, size_t length, bool *own)
{
	struct tar_global_record record;

	if (!own) /* a later global header replaces the earlier one */
		memset(global->has, 0, sizeof(global->has));
	for (size_t at = 0; at < length;) {
		if (!tar_global_next(body, length, &at, &record))
			return tar_global_damaged(global);
		if (!own && tar_global_take(global, &record) < 0)
			return -1;
		for (unsigned key = 0; own && key < TAR_GLOBAL_KEYS; key++)
			own[key] |= tar_global_is(&record, tar_global_names[key]);
	}
	return 0;
}

static bool tar_global_is_used(const struct tar_global *global)
{
	bool is_used = false;

	for (unsigned key = 0; key < TAR_GLOBAL_KEYS; key++)
		is_used |= global->has[key];
	return is_used;
}

/* Reads the header at headers + at, a block, and what it says, and returns the length of both; 0 at a header of another
 * kind, -1 with a reason. */
static int64_t tar_global_header(struct tar_global *global, const uint8_t *headers, size_t length, bool *own)
{
	char text[13] = { 0 }, type = length < TAR_GLOBAL_BLOCK ? 0 : (char)headers[156];
	size_t size, room = length - TAR_GLOBAL_BLOCK;
	bool is_global = type == 'g', is_own = type == 'x' || type == 'X';
	int r = 0;

	if (!is_global && !is_own && type != 'L' && type != 'K')
		return 0;
	memcpy(text, headers + 124, 12);
	size = strtoul(text, NULL, 8);
	if (size > room)
		return tar_global_damaged(global);
	if (is_global || (is_own && tar_global_is_used(global)))
		r = tar_global_read(global, (const char *)headers + TAR_GLOBAL_BLOCK, size, is_own ? own : NULL);
	size = (size + 2 * TAR_GLOBAL_BLOCK - 1) & ~(size_t)(TAR_GLOBAL_BLOCK - 1);
	return r < 0 ? r : (int64_t)size;
}

int tar_global_walk(struct tar_global *global, const uint8_t *headers, size_t length, bool *ret_holds)
{
	bool own[TAR_GLOBAL_KEYS] = { 0 };
	int64_t n = 1;

	for (size_t at = 0; n > 0 && at < length; at += (size_t)n)
		n = tar_global_header(global, headers + at, length - at, own);
	for (unsigned key = 0; key < TAR_GLOBAL_KEYS; key++)
		ret_holds[key] = global->has[key] && !own[key];
	return n < 0 ? -1 : 0;
}
