/* SPDX-License-Identifier: MIT */
/* Writes statements, and reads them by a pattern of lines; a statement must be written as the same bytes as it was
 * read. */
#include "trust/statement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "image/sums/sum.h"

#define STATEMENT_HEAD "datasetfs statement 1"
#define STATEMENT_NONE "none"
#define STATEMENT_ANY  "any"
#define STATEMENT_SHA  "sha256:"

const char *statement_date(uint64_t seconds, char text[STATEMENT_DATE_SIZE])
{
	return clock_date(seconds <= STATEMENT_DATE_MAX ? seconds : STATEMENT_DATE_MAX, text);
}

int statement_of(const struct version *version, const uint8_t *volume, struct statement *ret, struct error *err)
{
	int r = sum_check_kind(version->shape.chunk_sum, version->label, err);

	if (r < 0)
		return r;
	if (!version->created || version->created > STATEMENT_DATE_MAX)
		return error_set(err, -EINVAL, "version '%s' has no date, which a signature needs: pack it "
				 "without --uuid, or with SOURCE_DATE_EPOCH", version->label);
	*ret = (struct statement){ .has_block_sums = version->block_sums.length, .created = version->created,
				   .any_volume = !volume };
	memcpy(ret->digest, version->digest, sizeof(ret->digest));
	snprintf(ret->sums, sizeof(ret->sums), "%s", sum_name(version->shape.chunk_sum));
	if (ret->has_block_sums)
		memcpy(ret->block_sums, version->block_sums.sha256, sizeof(ret->block_sums));
	memcpy(ret->label, version->label, sizeof(ret->label));
	if (volume)
		memcpy(ret->volume, volume, sizeof(ret->volume));
	return 0;
}

size_t statement_write(const struct statement *statement, char text[STATEMENT_MAX])
{
	char digest[DIGEST_TEXT_SIZE], block_sums[DIGEST_TEXT_SIZE] = STATEMENT_NONE;
	char date[STATEMENT_DATE_SIZE], volume[UUID_TEXT_SIZE] = STATEMENT_ANY;

	format_digest(statement->digest, digest);
	if (statement->has_block_sums)
		format_digest(statement->block_sums, block_sums);
	if (!statement->any_volume)
		format_uuid(statement->volume, volume);
	return (size_t)snprintf(text, STATEMENT_MAX,
				STATEMENT_HEAD "\ndigest %s\nsums %s\nblock-sums %s\nlabel %s\ncreated %s\nvolume %s\n",
				digest, statement->sums, block_sums, statement->label,
				statement_date(statement->created, date), volume);
}

/* --- reading --- */

static int statement_bad(const char *name, struct error *err)
{
	return error_set(err, -EBADMSG, "statement: its line '%s' is malformed", name);
}

/* Takes the next line off *text and finds its value, behind its name and a blank; NULL: it is another line. */
static char *statement_line(char **text, const char *name)
{
	char *line = strsep(text, "\n");
	size_t length = strlen(name);

	return line && !strncmp(line, name, length) && line[length] == ' ' ? line + length + 1 : NULL;
}

static int statement_take(const char *name, const char *value, char *to, size_t room, struct error *err)
{
	if (!value || strlen(value) >= room)
		return statement_bad(name, err);
	memcpy(to, value, strlen(value) + 1);
	return 0;
}

static int statement_take_digest(const char *name, const char *value, uint8_t digest[32], struct error *err)
{
	if (!value || strncmp(value, STATEMENT_SHA, strlen(STATEMENT_SHA)) != 0 ||
	    parse_hex(value + strlen(STATEMENT_SHA), digest, 32, NULL) < 0)
		return statement_bad(name, err);
	return 0;
}

static int statement_take_date(const char *value, uint64_t *ret, struct error *err)
{
	struct tm tm = { 0 };
	const char *end = value ? strptime(value, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;
	time_t time = end && !*end ? timegm(&tm) : 0;

	if (time <= 0 || (uint64_t)time > STATEMENT_DATE_MAX)
		return statement_bad("created", err);
	*ret = (uint64_t)time;
	return 0;
}

/* Reads the lines; the text is cut at their ends. */
static int statement_read(char *text, struct statement *ret, struct error *err)
{
	const char *head = strsep(&text, "\n"), *value;
	int r;

	if (!head || strcmp(head, STATEMENT_HEAD) != 0)
		return error_set(err, -EBADMSG, "statement: it does not begin with '" STATEMENT_HEAD "'");
	r = statement_take_digest("digest", statement_line(&text, "digest"), ret->digest, err);
	if (r == 0)
		r = statement_take("sums", statement_line(&text, "sums"), ret->sums, sizeof(ret->sums), err);
	if (r < 0)
		return r;
	value = statement_line(&text, "block-sums");
	ret->has_block_sums = !value || strcmp(value, STATEMENT_NONE) != 0;
	if (ret->has_block_sums)
		r = statement_take_digest("block-sums", value, ret->block_sums, err);
	if (r == 0)
		r = statement_take("label", statement_line(&text, "label"), ret->label, sizeof(ret->label), err);
	if (r == 0)
		r = statement_take_date(statement_line(&text, "created"), &ret->created, err);
	if (r < 0)
		return r;
	value = statement_line(&text, "volume");
	ret->any_volume = value && !strcmp(value, STATEMENT_ANY);
	if (!ret->any_volume && (!value || parse_uuid(value, ret->volume, NULL) < 0))
		return statement_bad("volume", err);
	return 0;
}

int statement_parse(struct span text, struct statement *ret, struct error *err)
{
	char copy[STATEMENT_MAX], again[STATEMENT_MAX];
	struct statement statement = { 0 };
	int r;

	if (text.size >= sizeof(copy) || memchr(text.base, 0, text.size))
		return error_set(err, -EBADMSG, "statement: %zu bytes, expected a text of less than %u",
				 (size_t)text.size, STATEMENT_MAX);
	memcpy(copy, text.base, text.size);
	copy[text.size] = 0;
	r = statement_read(copy, &statement, err);
	if (r < 0)
		return r;
	if (statement_write(&statement, again) != text.size || memcmp(again, text.base, text.size) != 0)
		return error_set(err, -EBADMSG, "statement: it is not written as statements are");
	*ret = statement;
	return 0;
}

/* --- comparing --- */

static int statement_refuse(const char *what, const char *signed_value, const char *found, struct error *err)
{
	return error_set(err, -EKEYREJECTED, "the signature covers %s %s, found %s", what, signed_value, found);
}

static int statement_check_volume(const struct statement *statement, const uint8_t volume[16], struct error *err)
{
	char signed_uuid[UUID_TEXT_SIZE], found[UUID_TEXT_SIZE];

	if (statement->any_volume || !memcmp(statement->volume, volume, sizeof(statement->volume)))
		return 0;
	format_uuid(statement->volume, signed_uuid);
	format_uuid(volume, found);
	return statement_refuse("volume", signed_uuid, found, err);
}

int statement_check(const struct statement *statement, const struct version *version, const uint8_t volume[16],
		    struct error *err)
{
	char signed_digest[DIGEST_TEXT_SIZE], digest[DIGEST_TEXT_SIZE];
	const char *sums = sum_name(version->shape.chunk_sum);

	if (strcmp(statement->label, version->label) != 0)
		return statement_refuse("version", statement->label, version->label, err);
	if (memcmp(statement->digest, version->digest, sizeof(version->digest)) != 0) {
		format_digest(statement->digest, signed_digest);
		format_digest(version->digest, digest);
		return statement_refuse("digest", signed_digest, digest, err);
	}
	if (strcmp(statement->sums, sums) != 0)
		return statement_refuse("sums", statement->sums, sums, err);
	if (statement->has_block_sums != (version->block_sums.length != 0) ||
	    (statement->has_block_sums &&
	     memcmp(statement->block_sums, version->block_sums.sha256, sizeof(statement->block_sums)) != 0))
		return error_set(err, -EKEYREJECTED, "the signature covers other block checksums");
	return statement_check_volume(statement, volume, err);
}

int statement_check_date(struct statement_dated version, struct statement_dated former, const char *back,
			 struct error *err)
{
	char date[STATEMENT_DATE_SIZE], than[STATEMENT_DATE_SIZE];

	if (version.created >= former.created)
		return 0;
	return error_set(err, -EKEYREJECTED, "version '%s' is of %s, older than '%s' of %s: %s to go back",
			 version.label, statement_date(version.created, date), former.label,
			 statement_date(former.created, than), back);
}
