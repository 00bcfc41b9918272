/* SPDX-License-Identifier: MIT */
/* Asks for pages (ListObjectsV2) and parses each with expat. Keys come encoded as in URLs, because XML cannot have all
 * characters that keys may have. */
#include "source/remote/keys.h"

#include <errno.h>
#include <expat.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text/parse.h"
#include "source/remote/bucket.h"
#include "source/remote/object.h"

#define KEYS_PAGE_MAX (16u << 20) /* bytes; a page has 1000 keys at most */
#define KEYS_TEXT_MAX (64u << 10)
#define KEYS_SIZE_MAX (UINT64_C(50) << 40) /* AWS takes 50 TB, and not all stores as much */
#define KEYS_NO_SIZE  UINT64_MAX
#define KEYS_DIGITS   "0123456789abcdefABCDEF"

struct keys_page {
	const struct keys_setup *setup;
	char *bytes;
	size_t used, room;
	struct keys_object *objects;
	size_t count, objects_room;
	struct keys_object object; /* the one whose element is open */
	char *text;                /* of the element that is open */
	size_t text_used, text_room;
	char *next;                /* the token by which the next page is asked for, or NULL */
	bool is_encoded, is_truncated, is_listing, is_inside; /* inside: of an object's element */
	struct error failed;
};

void keys_free(struct keys_object *object)
{
	free(object->key);
	free(object->etag);
	*object = (struct keys_object){ 0 };
}

/* --- the bytes of a page --- */

static int keys_take(void *argument, const void *bytes, size_t length, struct error *err)
{
	struct keys_page *page = argument;
	int r = page->used + length > KEYS_PAGE_MAX ?
		error_set(err, -EFBIG, "a page of the listing is larger than 16 MiB") :
		grow(page->bytes, page->room, page->used + length, err);

	if (r < 0)
		return r;
	memcpy(page->bytes + page->used, bytes, length);
	page->used += length;
	return 0;
}

static void keys_restart(void *argument)
{
	struct keys_page *page = argument;

	page->used = 0;
}

/* --- XML --- */

static void XMLCALL keys_start(void *argument, const char *name, const char **attributes)
{
	struct keys_page *page = argument;

	(void)attributes;
	page->text_used = 0;
	page->is_listing |= !strcmp(name, "ListBucketResult");
	if (!strcmp(name, "Contents")) {
		page->is_inside = true;
		page->object.size = KEYS_NO_SIZE;
	}
}

static void XMLCALL keys_characters(void *argument, const char *text, int length)
{
	struct keys_page *page = argument;

	if (page->text_used + (size_t)length >= KEYS_TEXT_MAX)
		error_set(&page->failed, -EBADMSG, "the listing has a text of more than 64 KiB");
	if (page->failed.code)
		return;
	if (grow(page->text, page->text_room, page->text_used + (size_t)length + 1, &page->failed) < 0)
		return;
	memcpy(page->text + page->text_used, text, (size_t)length);
	page->text_used += (size_t)length;
}

static void keys_copy(struct keys_page *page, char **to)
{
	free(*to);
	*to = strdup(page->text);
	if (!*to)
		error_no_memory(&page->failed);
}

static void keys_size(struct keys_page *page)
{
	struct error why;

	if (parse_u64(page->text, 0, KEYS_SIZE_MAX, &page->object.size, &why) < 0)
		page->object.size = KEYS_NO_SIZE;
}

static void keys_value(struct keys_page *page, const char *name)
{
	struct tm tm = { 0 };

	if (!strcmp(name, "Key"))
		keys_copy(page, &page->object.key);
	else if (!strcmp(name, "ETag"))
		keys_copy(page, &page->object.etag);
	else if (!strcmp(name, "Size"))
		keys_size(page);
	else if (!strcmp(name, "LastModified") && strptime(page->text, "%Y-%m-%dT%H:%M:%S", &tm))
		page->object.mtime = timegm(&tm);
}

static void keys_object_ends(struct keys_page *page)
{
	page->is_inside = false;
	if (!page->object.key || page->failed.code ||
	    grow(page->objects, page->objects_room, page->count + 1, &page->failed) < 0)
		return;
	page->objects[page->count++] = page->object;
	page->object = (struct keys_object){ 0 };
}

static void XMLCALL keys_end(void *argument, const char *name)
{
	struct keys_page *page = argument;

	if (page->failed.code || grow(page->text, page->text_room, page->text_used + 1, &page->failed) < 0)
		return;
	page->text[page->text_used] = 0;
	page->text_used = 0;
	if (!strcmp(name, "Contents"))
		keys_object_ends(page);
	else if (page->is_inside)
		keys_value(page, name);
	else if (!strcmp(name, "NextContinuationToken"))
		keys_copy(page, &page->next);
	else if (!strcmp(name, "IsTruncated"))
		page->is_truncated = !strcmp(page->text, "true");
	else if (!strcmp(name, "EncodingType"))
		page->is_encoded = !strcmp(page->text, "url");
}

static int keys_parse(struct keys_page *page, struct error *err)
{
	XML_Parser parser = XML_ParserCreate(NULL);
	bool is_right;

	if (!parser)
		return error_no_memory(err);
	XML_SetUserData(parser, page);
	XML_SetElementHandler(parser, keys_start, keys_end);
	XML_SetCharacterDataHandler(parser, keys_characters);
	is_right = XML_Parse(parser, page->bytes, (int)page->used, true) == XML_STATUS_OK && page->is_listing;
	XML_ParserFree(parser);
	if (page->failed.code)
		return error_pass(err, page->failed.code, &page->failed);
	if (!is_right || (page->is_truncated && !page->next))
		return error_set(err, -EBADMSG, "'%.200s': the server sends no listing, expected that of ListObjectsV2",
				 page->setup->source);
	return 0;
}

/* --- pages --- */

/* Decodes a key in place, except for zero bytes. */
static void keys_decode(struct keys_object *object)
{
	char *to = object->key, digits[3] = { 0 }, byte;

	for (const char *key = object->key; *key; key++) {
		byte = *key == '+' ? ' ' : *key;
		if (*key == '%' && strspn(key + 1, KEYS_DIGITS) >= 2) {
			memcpy(digits, key + 1, 2);
			byte = (char)strtoul(digits, NULL, 16);
			object->has_zero |= !byte;
			key += byte ? 2 : 0;
		}
		*to++ = byte ? byte : *key;
	}
	*to = 0;
}

static int keys_hand_over(struct keys_page *page, const char *prefix, struct error *err)
{
	size_t length = strlen(prefix);
	int r = 0;

	for (size_t i = 0; r == 0 && i < page->count; i++) {
		struct keys_object *object = &page->objects[i];

		if (page->is_encoded)
			keys_decode(object);
		if (strncmp(object->key, prefix, length) != 0)
			return error_set(err, -EBADMSG, "'%.200s': the listing has a key that does not begin like it",
					 page->setup->source);
		if (object->size == KEYS_NO_SIZE)
			return error_set(err, -EBADMSG, "'%.200s': the listing gives no size of '%.200s', or none "
					 "from 0 to 50 TiB", page->setup->source, object->key);
		memmove(object->key, object->key + length, strlen(object->key + length) + 1);
		r = page->setup->each(page->setup->argument, object, err);
	}
	return r;
}

static void keys_close(struct keys_page *page)
{
	for (size_t i = 0; i < page->count; i++)
		keys_free(&page->objects[i]);
	keys_free(&page->object);
	free(page->objects);
	free(page->bytes);
	free(page->text);
	free(page->next);
}

/* Handles one page. token: that of the page, NULL for the first one; in its place comes that of the next. */
static int keys_page(struct http *http, const struct keys_setup *setup, char **token, struct error *err)
{
	struct keys_page page = { .setup = setup };
	auto_free char *url = NULL;
	struct object_setup object = { .name = setup->source, .account = setup->account, .retries = setup->retries,
				       .sink = keys_take, .restart = keys_restart, .argument = &page,
				       .warn = setup->warn };
	int r = bucket_list_url(setup->bucket, setup->source, *token, &url, err);

	object.url = url;
	object.warn_argument = setup->argument;
	if (r == 0)
		r = object_read(http, &object, err);
	if (r == 0)
		r = keys_parse(&page, err);
	if (r == 0 && page.is_truncated && *token && !strcmp(*token, page.next))
		r = error_set(err, -EBADMSG, "'%.200s': the listing does not end: each page names itself as the next",
			      setup->source);
	if (r == 0)
		r = keys_hand_over(&page, bucket_key(setup->source), err);
	free(*token);
	*token = page.is_truncated ? take_ptr(&page.next) : NULL;
	keys_close(&page);
	return r;
}

int keys_list(struct http *http, const struct keys_setup *setup, struct error *err)
{
	char *token = NULL;
	int r;

	do
		r = keys_page(http, setup, &token, err);
	while (r == 0 && token);
	free(token);
	return r;
}
