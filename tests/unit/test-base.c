/* SPDX-License-Identifier: MIT */
/* Numbers, sizes, UUIDs, options, JSON and UTF-8. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/program/options.h"
#include "base/program/subordinate.h"
#include "base/span.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "base/text/nearest.h"
#include "base/text/parse.h"
#include "base/thread/wake.h"
#include "base/utf8.h"
#include "lib/check.h"

static void test_subordinate_ids(void **state)
{
	static const char lines[] = "alice:100000:65536\nbob:165536:65536\n# no line\nnone:1:0\nbob:1:2:3\n\n"
				    "alice:300000:1\n1000:4294967294:1\nlast:4294967294:2\neve:500000:10";
	static const uint32_t shares[][2] = {
		{ 0, 0 }, { 1, 1 }, { 99999, 99999 }, { 100000, 100000 }, { 165535, 100000 }, { 165536, 165536 },
		{ 231071, 165536 }, { 231072, 231072 }, { 300000, 100000 }, { 300001, 300001 }, { 500009, 500000 },
		{ UINT32_MAX - 1, UINT32_MAX - 1 }, { UINT32_MAX, UINT32_MAX },
	};
	int fd = memfd_create("subuid", MFD_CLOEXEC);
	struct subordinate *subordinate = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK_OK(subordinate_read(path, &subordinate, &err));
	assert_int_equal(subordinate_share(subordinate, 7), 7); /* no line */
	subordinate_free(subordinate);
	assert_int_equal(write(fd, lines, sizeof(lines) - 1), sizeof(lines) - 1);
	CHECK_OK(subordinate_read(path, &subordinate, &err));
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		assert_int_equal(subordinate_share(subordinate, shares[i][0]), shares[i][1]);
	subordinate_free(subordinate);
	close(fd);
	CHECK_FAILS(subordinate_read("/nowhere/subuid", &subordinate, &err), -ENOENT, "cannot open '/nowhere/subuid'");
	assert_int_equal(subordinate_share(NULL, 7), 7);
}

static void test_sizes(void **state)
{
	uint64_t n;

	CHECK_OK(parse_size("128K", 0, UINT64_MAX, &n, &err));
	assert_int_equal(n, 131072);
	CHECK_OK(parse_size("3t", 0, UINT64_MAX, &n, &err));
	assert_int_equal(n, UINT64_C(3) << 40);
	CHECK_OK(parse_size("0", 0, UINT64_MAX, &n, &err));
	assert_int_equal(n, 0);
	CHECK_FAILS(parse_size("", 0, 9, &n, &err), -EINVAL, "not a number");
	CHECK_FAILS(parse_size("-1", 0, 9, &n, &err), -EINVAL, "not a number");
	CHECK_FAILS(parse_size("12X", 0, 99, &n, &err), -EINVAL, "not a size");
	CHECK_FAILS(parse_size("12KB", 0, 99, &n, &err), -EINVAL, "not a size");
	CHECK_FAILS(parse_size("99999999T", 0, UINT64_MAX, &n, &err), -ERANGE, "too large");
	CHECK_FAILS(parse_size("99999999999999999999", 0, UINT64_MAX, &n, &err), -ERANGE, "too large");
	CHECK_FAILS(parse_size("8K", 1, 4096, &n, &err), -ERANGE, "expected 1 to 4K");
	CHECK_FAILS(parse_size("1", 1 << 20, UINT64_C(5) << 40, &n, &err), -ERANGE, "expected 1M to 5T");
	CHECK_FAILS(parse_size("1", 1000, UINT64_C(1) << 60, &n, &err), -ERANGE, "expected 1000 to 1048576T");
	CHECK_OK(parse_size_or_off("2M", 2 << 20, 1 << 30, &n, &err));
	assert_int_equal(n, 2 << 20);
	CHECK_OK(parse_size_or_off("off", 2 << 20, 1 << 30, &n, &err));
	assert_int_equal(n, 0);
	n = 1;
	CHECK_OK(parse_size_or_off("0", 2 << 20, 1 << 30, &n, &err));
	assert_int_equal(n, 0);
	CHECK_FAILS(parse_size_or_off("1M", 2 << 20, 1 << 30, &n, &err), -ERANGE, "'1M': expected off, or 2M to 1G");
	CHECK_FAILS(parse_size_or_off("on", 2 << 20, 1 << 30, &n, &err), -EINVAL, "'on': expected off, or 2M to 1G");
	CHECK_FAILS(parse_u64("8K", 0, 4096, &n, &err), -EINVAL, "not a number");
	CHECK_OK(parse_u64("17", 17, 17, &n, &err));
	assert_int_equal(n, 17);
}

static void test_uuids(void **state)
{
	uint8_t uuid[16];
	char text[UUID_TEXT_SIZE];

	CHECK_OK(parse_uuid("00112233-4455-6677-8899-aAbBcCdDeEfF", uuid, &err));
	format_uuid(uuid, text);
	assert_string_equal(text, "00112233-4455-6677-8899-aabbccddeeff");
	CHECK_FAILS(parse_uuid("00112233-4455-6677-8899-aabbccddeef", uuid, &err), -EINVAL, "not a UUID");
	CHECK_FAILS(parse_uuid("00112233-4455-6677-8899-aabbccddeefg", uuid, &err), -EINVAL, "not a UUID");
	CHECK_FAILS(parse_uuid("001122334-455-6677-8899-aabbccddeeff", uuid, &err), -EINVAL, "not a UUID");
	CHECK_FAILS(parse_uuid("00112233-4455-6677-8899--abbccddeeff", uuid, &err), -EINVAL, "not a UUID");
}

static void test_size_text(void **state)
{
	char text[SIZE_TEXT_SIZE];

	assert_string_equal(format_size(0, text), "0 bytes");
	assert_string_equal(format_size(1023, text), "1023 bytes");
	assert_string_equal(format_size(1536, text), "1.50 KiB");
	assert_string_equal(format_size(UINT64_C(5) << 30, text), "5.00 GiB");
	assert_string_equal(format_size(UINT64_MAX, text), "16.0 EiB");
}

static void test_spans(void **state)
{
	uint8_t bytes[10];
	struct span span = { bytes, sizeof(bytes) };

	assert_ptr_equal(span_at(span, 0, 10), bytes);
	assert_ptr_equal(span_at(span, 10, 0), bytes + 10);
	assert_null(span_at(span, 0, 11));
	assert_null(span_at(span, 11, 0));
	assert_null(span_at(span, UINT64_MAX, 2));
	assert_null(span_at(span, 2, UINT64_MAX));
}

static const char *nearest_of(const char *typed)
{
	static const char *const words[] = { "io", "list", "stat", "status", "switch", "version", "noversions" };
	static struct nearest nearest;

	nearest = nearest_begin(typed, strlen(typed));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		nearest_try(&nearest, words[i]);
	return *nearest.found ? nearest.found : "none";
}

static void test_nearest(void **state)
{
	assert_string_equal(nearest_of("verison"), "version");
	assert_string_equal(nearest_of("versions"), "version");
	assert_string_equal(nearest_of("noverison"), "noversions");
	assert_string_equal(nearest_of("lst"), "list");
	assert_string_equal(nearest_of("tsat"), "stat");
	assert_string_equal(nearest_of("statsu"), "status");
	assert_string_equal(nearest_of("oi"), "io");
	assert_string_equal(nearest_of("cat"), "none");
	assert_string_equal(nearest_of("ls"), "none");
	assert_string_equal(nearest_of("i"), "none");
	assert_string_equal(nearest_of(""), "none");
	assert_string_equal(nearest_of("versionversionversionversionversion"), "none");
}

struct target {
	int flag;
	const char *text;
};

static int set_flag(void *target, const char *argument, struct error *err)
{
	assert_null(argument);
	((struct target *)target)->flag++;
	return 0;
}

static int set_text(void *target, const char *argument, struct error *err)
{
	if (!strcmp(argument, "bad"))
		return error_set(err, -EINVAL, "'bad' is not good");
	((struct target *)target)->text = argument;
	return 0;
}

static const struct option_spec options[] = {
	{ "flag", 'f', NULL, OPTION_CALL(set_flag), "a switch" },
	{ "text", 't', "TEXT", OPTION_CALL(set_text), "a text" },
	{ 0 },
};

static const struct command_line line = {
	.program = "prog", .usage = "[OPTIONS] FILE", .summary = "Does it.", .options = options
};

static int parse(struct target *target, int *operands, struct error *err, char **argv)
{
	bool done;
	int argc = 0;

	while (argv[argc])
		argc++;
	*target = (struct target){ 0 };
	*operands = options_parse(&line, argc, argv, target, &done, err);
	return *operands < 0 ? *operands : 0;
}

#define ARGV(...) ((char *[]){ "prog", __VA_ARGS__, NULL })

static void test_options(void **state)
{
	char *mixed[] = { "prog", "one", "-ft", "x", "two", "--text=y", "--flag", "--", "-f", NULL };
	struct target target;
	int operands;

	CHECK_OK(parse(&target, &operands, &err, mixed));
	assert_int_equal(operands, 3);
	assert_string_equal(mixed[1], "one");
	assert_string_equal(mixed[3], "-f");
	assert_int_equal(target.flag, 2);
	assert_string_equal(target.text, "y");
	CHECK_OK(parse(&target, &operands, &err, ARGV("-tx", "-")));
	assert_string_equal(target.text, "x");
	assert_int_equal(operands, 1);
	CHECK_FAILS(parse(&target, &operands, &err, ARGV("--nope")), -EINVAL,
		    "unknown option '--nope', see 'prog --help'");
	CHECK_FAILS(parse(&target, &operands, &err, ARGV("--txet=x")), -EINVAL,
		    "unknown option '--txet', did you mean '--text'?");
	CHECK_FAILS(parse(&target, &operands, &err, ARGV("--verzion")), -EINVAL, "did you mean '--version'?");
	CHECK_FAILS(parse(&target, &operands, &err, ARGV("-fz")), -EINVAL, "unknown option '-z'");
	CHECK_FAILS(parse(&target, &operands, &err, ARGV("--flag=1")), -EINVAL, "'--flag' takes no value");
	CHECK_FAILS(parse(&target, &operands, &err, ARGV("--text")), -EINVAL, "'--text' needs TEXT");
	CHECK_FAILS(parse(&target, &operands, &err, ARGV("-t")), -EINVAL, "'-t' needs TEXT");
	CHECK_FAILS(parse(&target, &operands, &err, ARGV("-t", "bad")), -EINVAL, "option '--text': 'bad' is not good");
}

/* Of a program that starts others: what follows the first operand is not ours to read. */
static void test_options_end(void **state)
{
	struct command_line runner = line;
	char *words[] = { "prog", "-f", "--", "one", "-f", "--", "--text=y", NULL };
	struct target target = { 0 };
	struct error err = { 0 };
	bool done;

	runner.operands_end_options = true;
	assert_int_equal(options_parse(&runner, 7, words, &target, &done, &err), 4);
	assert_int_equal(target.flag, 1);
	assert_string_equal(words[2], "-f");
	assert_string_equal(words[3], "--");
	assert_int_equal(options_parse(&runner, 4, ARGV("one", "--help", "-f"), &target, &done, &err), 3);
	assert_false(done);
	assert_int_equal(target.flag, 1);
}

struct values {
	bool on, off, either;
	const char *text;
	int number, seconds;
	unsigned count;
	uint64_t large, bytes, limit;
	uint32_t log;
	enum { FIRST, SECOND, THIRD } word;
};

static int refuse_bad(const char *text, struct error *why)
{
	return strcmp(text, "bad") ? 0 : error_set(why, -EINVAL, "'bad' is not good");
}

static const struct option_value value_on = OPTION_TRUE(struct values, on);
static const struct option_value value_off = OPTION_FALSE(struct values, off);
static const struct option_value value_either = OPTION_WORD(struct values, either, "no", "yes");
static const struct option_value value_text = OPTION_TEXT(struct values, text, refuse_bad);
static const struct option_value value_number = OPTION_NUMBER(struct values, number, 1, 9);
static const struct option_value value_count = OPTION_NUMBER(struct values, count, 0, 7);
static const struct option_value value_large = OPTION_NUMBER(struct values, large, 0, UINT64_MAX);
static const struct option_value value_seconds = OPTION_NUMBER_OR_OFF(struct values, seconds, 1, 60);
static const struct option_value value_bytes = OPTION_SIZE(struct values, bytes, 1 << 20, UINT64_C(1) << 40);
static const struct option_value value_limit = OPTION_SIZE_OR_OFF(struct values, limit, 1024, 3 << 10);
static const struct option_value value_refused = OPTION_REFUSED("it is not done");
static const struct option_value value_size = OPTION_LOG(struct values, log, 12, 20);
static const struct option_value value_word = OPTION_WORD(struct values, word, "first", "second", "third");
static const struct option_value value_nothing = OPTION_NOTHING;

/* Each kind of value: what it becomes, its bounds, and what is said of one beyond them. */
static void test_option_values(void **state)
{
	struct values is = { .off = true, .number = 5 };

	CHECK_OK(option_set(&value_on, &is, NULL, &err));
	CHECK_OK(option_set(&value_off, &is, NULL, &err));
	CHECK_OK(option_set(&value_nothing, &is, "x", &err));
	assert_true(is.on && !is.off);
	CHECK_OK(option_set(&value_either, &is, "yes", &err));
	assert_true(is.either);
	CHECK_OK(option_set(&value_either, &is, "no", &err));
	assert_false(is.either);
	CHECK_FAILS(option_set(&value_either, &is, "maybe", &err), -EINVAL, "'maybe' is neither 'no' nor 'yes'");
	CHECK_OK(option_set(&value_text, &is, "good", &err));
	CHECK_FAILS(option_set(&value_text, &is, "bad", &err), -EINVAL, "'bad' is not good");
	assert_string_equal(is.text, "good");
	CHECK_FAILS(option_set(&value_number, &is, "10", &err), -ERANGE, "10");
	CHECK_FAILS(option_set(&value_number, &is, "off", &err), -EINVAL, "'off'");
	assert_int_equal(is.number, 5);
	CHECK_OK(option_set(&value_number, &is, "9", &err));
	assert_int_equal(is.number, 9);
	CHECK_OK(option_set(&value_count, &is, "7", &err));
	assert_int_equal(is.count, 7);
	CHECK_OK(option_set(&value_large, &is, "18446744073709551615", &err));
	assert_true(is.large == UINT64_MAX);
	CHECK_OK(option_set(&value_seconds, &is, "60", &err));
	assert_int_equal(is.seconds, 60);
	CHECK_OK(option_set(&value_seconds, &is, "off", &err));
	assert_int_equal(is.seconds, -1);
	CHECK_OK(option_set(&value_size, &is, "128K", &err));
	assert_int_equal(is.log, 17);
	CHECK_FAILS(option_set(&value_size, &is, "100K", &err), -EINVAL, "'100K' is not a power of two");
	CHECK_FAILS(option_set(&value_size, &is, "2M", &err), -ERANGE, "2M");
	CHECK_OK(option_set(&value_word, &is, "third", &err));
	CHECK_FAILS(option_set(&value_word, &is, "fourth", &err), -EINVAL,
		    "'fourth' is not one of 'first', 'second', 'third'");
	assert_int_equal(is.word, THIRD);
	CHECK_FAILS(option_set(&value_refused, &is, NULL, &err), -EINVAL, "it is not done");
}

static void test_option_sizes(void **state)
{
	struct values is = { 0 };

	CHECK_OK(option_set(&value_bytes, &is, "3G", &err));
	assert_int_equal(is.bytes, UINT64_C(3) << 30);
	CHECK_FAILS(option_set(&value_bytes, &is, "off", &err), -EINVAL, "'off' is not a number");
	CHECK_FAILS(option_set(&value_bytes, &is, "1000K", &err), -ERANGE, "expected 1M to 1T");
	CHECK_OK(option_set(&value_limit, &is, "2K", &err));
	assert_int_equal(is.limit, 2048);
	CHECK_OK(option_set(&value_limit, &is, "off", &err));
	assert_int_equal(is.limit, 0);
	CHECK_FAILS(option_set(&value_limit, &is, "4K", &err), -ERANGE, "'4K': expected off, or 1K to 3K");
}

static void assert_range(const struct option_value *value, const char *expected)
{
	char range[OPTION_RANGE_SIZE];

	option_range(value, range);
	assert_string_equal(range, expected);
}

static void test_option_ranges(void **state)
{
	assert_range(&value_number, "1 to 9");
	assert_range(&value_bytes, "1M to 1T");
	assert_range(&value_limit, "1K to 3K");
	assert_range(&value_word, "");
	assert_range(&value_text, "");
}

/* A prefix comes before the reason; what does not fit is cut at the end. */
static void test_error_wrap(void **state)
{
	struct error err = { 0 };
	char tail[sizeof(err.reason)];

	assert_int_equal(error_wrap(NULL, -EIO, "nowhere"), -EIO);
	(void)error_set(&err, -ENOENT, "it is not there");
	assert_int_equal(error_wrap(&err, -ENOENT, "file '%s'", "x"), -ENOENT);
	assert_string_equal(err.reason, "file 'x': it is not there");
	memset(tail, 'y', sizeof(tail));
	tail[sizeof(tail) - 1] = 0;
	(void)error_set(&err, -EIO, "%s", tail);
	(void)error_wrap(&err, -EIO, "long");
	assert_int_equal(strlen(err.reason), sizeof(err.reason) - 1);
	assert_memory_equal(err.reason, "long: yyy", 9);
}

static void test_json(void **state)
{
	char *text = NULL;
	size_t length;
	struct json json = { open_memstream(&text, &length), false };

	json_begin_object(&json, NULL);
	json_string(&json, "a\"b", "x\\\n\t");
	json_bytes(&json, "raw", "\xff\xc3\xa9\xed\xa0\x80\xc2\x9b", 8);
	json_begin_array(&json, "list");
	json_number(&json, NULL, UINT64_MAX);
	json_signed(&json, NULL, -5);
	json_begin_object(&json, NULL);
	json_end_object(&json);
	json_end_array(&json);
	json_bool(&json, "yes", true);
	json_null(&json, "none");
	json_real(&json, "real", 0.5);
	json_end_object(&json);
	fclose(json.out);
	assert_string_equal(text, "{\"a\\\"b\": \"x\\\\\\u000a\\u0009\", "
				  "\"raw\": \"\\udcff\xc3\xa9\\udced\\udca0\\udc80\\u009b\", "
				  "\"list\": [18446744073709551615, -5, {}], \"yes\": true, \"none\": null, "
				  "\"real\": 0.500000}");
	free(text);
}

/* Characters that a terminal shows, and bytes that it would obey or that are not UTF-8. */
static void test_shown(void **state)
{
	static const char *const shown[] = {
		"a", " ", "\xc2\xa0", "\xc3\xa9", "\xc3\x96", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
		/* next to what is hidden, and letters that run from right to left */
		"\u00ac", "\u00ae", "\u061b", "\u061e", "\u200a", "\u2010", "\u2027", "\u202f", "\u205f", "\u2070",
		"\ufefc", "\ufffc", "\ufffd", "\U000e1000", "\u05d0", "\u0627",
	};
	static const char *const others[] = {
		"\n", "\x1b[2J", "\x7f", "\xc2\x80", "\xc2\x9b", "\xc2\x9f", "\x9b",
		"\xff", "\xc3", "\xc3(", "\xed\xa0\x80", "\xe0\x82\x9b", "\xf5\x80\x80\x80",
	};

	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		assert_int_equal(utf8_shown((const uint8_t *)shown[i], strlen(shown[i])), strlen(shown[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(utf8_shown((const uint8_t *)others[i], strlen(others[i])), 0);
}

/* Characters that turn the direction of the text around them, or are invisible: names would look like others. */
static void test_hidden(void **state)
{
	static const char *const hidden[] = {
		"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067",
		"\u2068", "\u2069", /* directions */
		"\u00ad", "\u034f", "\u115f", "\u17b5", "\u180e", "\u200b", "\u200c", "\u200d", "\u2060", "\u206f",
		"\u3164", "\ufe00", "\ufe0f", "\ufeff", "\uffa0", "\ufff0", "\ufff9", "\ufffb", "\U0001bca0",
		"\U0001d17a", "\U000e0001", "\U000e007f", "\U000e01ef", "\U000e0fff", /* invisible */
		"\u2028", "\u2029", /* ends of lines */
	};
	uint32_t point;

	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++) {
		assert_int_equal(utf8_decode((const uint8_t *)hidden[i], strlen(hidden[i]), &point), strlen(hidden[i]));
		assert_int_equal(utf8_shown((const uint8_t *)hidden[i], strlen(hidden[i])), 0);
	}
}

static void test_grow(void **state)
{
	uint32_t *items = NULL, *before;
	size_t room = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		CHECK_OK(grow(items, room, i + 1, &err));
		assert_true(room > i);
		items[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	assert_int_equal(room, 1024);
	before = items;
	CHECK_OK(grow(items, room, 1024, &err));
	assert_ptr_equal(items, before);
	CHECK_FAILS(grow(items, room, SIZE_MAX / 2, &err), -ENOMEM, "out of memory");
	assert_true(items == before && room == 1024);
	CHECK_OK(grow(items, room, 5000, &err));
	assert_int_equal(room, 5000);
	assert_int_equal(items[999], 999);
	CHECK_OK(grow_one(items, 6000, &err));
	items[6000] = 1;
	free(items);
}

/* Escaped, a character is still itself. */
static void test_hidden_in_json(void **state)
{
	char *text = NULL;
	size_t length;
	struct json json = { .out = open_memstream(&text, &length) };

	json_string(&json, NULL, "a\u202eb\u061c\U000e0041\u20ac");
	fclose(json.out);
	assert_string_equal(text, "\"a\\u202eb\\u061c\\udb40\\udc41\u20ac\"");
	free(text);
}

static void test_errors(void **state)
{
	struct error err = { 0 };

	errno = ENOENT;
	assert_int_equal(error_errno(&err, "open '%s'", "x"), -ENOENT);
	assert_string_equal(err.reason, "open 'x': No such file or directory");
	assert_int_equal(error_set(NULL, -EIO, "nobody listens"), -EIO);
}

static void test_log_limit(void **state)
{
	struct log_limit limit = { .burst = 3 };
	unsigned held;

	for (int i = 0; i < 3; i++)
		assert_true(log_allow(&limit, &held));
	for (int i = 0; i < 5; i++)
		assert_false(log_allow(&limit, &held));
	limit.period_start -= 61;
	assert_true(log_allow(&limit, &held));
	assert_int_equal(held, 5);
}

static void test_wake(void **state)
{
	struct wake wake;

	CHECK_OK(wake_open(&wake, &err));
	assert_int_equal(wake_take(&wake), 0);
	wake_up(&wake);
	wake_up(&wake);
	assert_int_equal(wake_take(&wake), 2);
	wake_up(&wake);
	wake_wait(&wake, -1);
	assert_int_equal(wake_take(&wake), 0); /* the wait took it */
	wake_wait(&wake, 0);
	wake_up(NULL);
	wake_close(&wake);
	assert_int_equal(wake.fd, -1);
	wake_close(&wake);
}

CHECK_MAIN(cmocka_unit_test(test_sizes), cmocka_unit_test(test_uuids), cmocka_unit_test(test_size_text),
	   cmocka_unit_test(test_spans), cmocka_unit_test(test_nearest), cmocka_unit_test(test_options),
	   cmocka_unit_test(test_subordinate_ids), cmocka_unit_test(test_options_end), cmocka_unit_test(test_json),
	   cmocka_unit_test(test_option_values), cmocka_unit_test(test_option_sizes),
	   cmocka_unit_test(test_option_ranges), cmocka_unit_test(test_error_wrap), cmocka_unit_test(test_shown),
	   cmocka_unit_test(test_hidden), cmocka_unit_test(test_grow), cmocka_unit_test(test_hidden_in_json),
	   cmocka_unit_test(test_errors), cmocka_unit_test(test_log_limit), cmocka_unit_test(test_wake))
