/* SPDX-License-Identifier: MIT */
/* datasetfs-csi before it does anything: the encoding of messages, the limits of requests, what comes of a volume's
 * attributes, and paths of targets. */
#include "lib/check.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "csi/request.h"
#include "csi/target.h"
#include "csi/wire.h"
#include "csi/wish.h"

static struct span span(const struct wire_message *message)
{
	return span_of(message->bytes, message->length);
}

/* ---- the encoding ---- */

static void test_round_trip(void **state)
{
	auto_wire struct wire_message message = { 0 }, inner = { 0 };
	struct wire_field field;
	struct span rest;

	wire_put_text(&inner, 1, "text");
	wire_put_number(&message, 3, UINT64_MAX);
	wire_put_message(&message, 536870911, &inner);
	rest = span(&message);
	CHECK_OK(wire_next(&rest, &field, &err) - 1);
	assert_int_equal(field.number, 3);
	assert_true(field.kind == WIRE_VARINT && field.value == UINT64_MAX);
	CHECK_OK(wire_next(&rest, &field, &err) - 1);
	assert_int_equal(field.number, 536870911);
	assert_int_equal(field.bytes.size, inner.length);
	assert_memory_equal(field.bytes.base, inner.bytes, inner.length);
	assert_int_equal(wire_next(&rest, &field, NULL), 0);
}

static void test_fixed(void **state)
{
	static const char bytes[] = "\x09\x01\x02\0\0\0\0\0\x80\x15\xff\0\0\0";
	struct span rest = span_of(bytes, sizeof(bytes) - 1);
	struct wire_field field;

	CHECK_OK(wire_next(&rest, &field, &err) - 1);
	assert_true(field.value == UINT64_C(0x8000000000000201));
	CHECK_OK(wire_next(&rest, &field, &err) - 1);
	assert_true(field.number == 2 && field.value == 255);
}

static void test_damage(void **state)
{
	static const struct {
		const char *bytes, *reason;
		size_t length;
	} damaged[] = {
		{ "\x80", "ends within a number", 1 },
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "more than 64 bits", 11 },
		{ "\x00\x01", "no valid number", 2 },
		{ "\x0a\x02x", "field 1 of the message goes beyond its end", 3 },
		{ "\x0d\x01\x02", "goes beyond its end", 3 },
		{ "\x0b", "of the unused kind 3", 1 },
	};
	struct wire_field field;

	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		struct span rest = span_of(damaged[i].bytes, damaged[i].length);

		CHECK_FAILS(wire_next(&rest, &field, &err), -EBADMSG, damaged[i].reason);
		assert_int_equal(rest.size, damaged[i].length);
	}
}

/* ---- requests ---- */

static void put_attribute(struct wire_message *message, const char *key, const char *value)
{
	auto_wire struct wire_message pair = { 0 };

	wire_put_text(&pair, 1, key);
	wire_put_text(&pair, 2, value);
	wire_put_message(message, 8, &pair);
}

static void test_limits(void **state)
{
	auto_wire struct wire_message message = { 0 }, long_path = { 0 };
	auto_request struct request request = { 0 };
	char text[REQUEST_TEXT_MOST + 2];

	for (unsigned i = 0; i < REQUEST_PAIRS; i++) {
		snprintf(text, sizeof(text), "%u", i);
		put_attribute(&message, text, "");
	}
	CHECK_OK(request_publish(span(&message), &request, &err));
	assert_int_equal(request.attribute_count, REQUEST_PAIRS);
	request_free(&request);
	put_attribute(&message, "one more", "");
	CHECK_FAILS(request_publish(span(&message), &request, &err), -EBADMSG, "more than 64 attributes");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	wire_put_text(&long_path, 4, text);
	CHECK_FAILS(request_publish(span(&long_path), &request, &err), -EBADMSG, "more than 4096 bytes");
}

static void test_status(void **state)
{
	auto_wire struct wire_message message = { 0 };
	auto_free char *reason = NULL;

	CHECK_OK(request_status(span(&message), &reason, &err));
	assert_string_equal(reason, "");
	free(take_ptr(&reason));
	wire_put_text(&message, 2, "why");
	CHECK_OK(request_status(span(&message), &reason, &err));
	assert_string_equal(reason, "why");
	free(take_ptr(&reason));
	wire_put_number(&message, 1, 1);
	CHECK_OK(request_status(span(&message), &reason, &err));
	assert_null(reason);
}

/* ---- wishes ---- */

#define INLINE_VOLUME "csi-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int wish_by(const struct conf *conf, const char *volume, const char *const *pairs, struct wish *ret,
		   struct error *why)
{
	struct named sets[] = { { "train", "/srv/train", NULL }, { "old", "/srv/train", "version=v1,suid" },
				{ "own", "/srv/train", "suid,trust=/own" }, { "not", "/srv/train", "mistrust=1" },
				{ "direct", "/srv/train", "direct_group=3000" } };
	const struct named_list named = { "datasets.conf", sets, 5 };
	auto_wire struct wire_message message = { 0 };
	auto_request struct request request = { 0 };

	wire_put_text(&message, 1, volume);
	for (; *pairs; pairs += 2)
		put_attribute(&message, pairs[0], pairs[1]);
	CHECK_OK(request_publish(span(&message), &request, &err));
	return wish_read(&request, &named, conf, ret, why);
}

static int wish(const char *volume, const char *const *pairs, bool paths, struct wish *ret, struct error *why)
{
	return wish_by(&(struct conf){ .inline_paths = paths }, volume, pairs, ret, why);
}

/* PAIRS: names and values of attributes */
#define PAIRS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PERSISTENT "csi.storage.k8s.io/ephemeral", "false"
#define EPHEMERAL  "csi.storage.k8s.io/ephemeral", "true"

static void assert_wish(const char *volume, const char *const *pairs, const char *expected)
{
	auto_wish struct wish found = { 0 }, same = { 0 };
	char joined[256];

	CHECK_OK(wish(volume, pairs, false, &found, &err));
	snprintf(joined, sizeof(joined), "%s|%s", found.volume, found.options ? found.options : "");
	for (size_t i = 0; i < found.want_count; i++) {
		strcat(joined, "|");
		strcat(joined, found.wants[i]);
	}
	assert_string_equal(joined, expected);
	CHECK_OK(wish(volume, pairs, false, &same, &err));
	assert_true(wish_is_same(&found, &same));
}

static void test_wishes(void **state)
{
	auto_wish struct wish one = { 0 }, other = { 0 };

	assert_wish(INLINE_VOLUME, PAIRS(EPHEMERAL, "dataset", "train"), "/srv/train|");
	assert_wish("pv", PAIRS("version", "a b;c", "dataset", "train", "follow", "-o"),
		    "/srv/train||version=a b;c|follow=-o");
	assert_wish("pv", PAIRS("dataset", "old"), "/srv/train|version=v1,suid");
	assert_wish("pv", PAIRS(PERSISTENT, "dataset", "/dev/x"), "/dev/x|");
	assert_wish("pv", PAIRS(PERSISTENT, "dataset", "uuid:0"), "uuid:0|");
	CHECK_OK(wish("pv", PAIRS("dataset", "train", "version", "a"), false, &one, &err));
	CHECK_OK(wish("pv", PAIRS("dataset", "train", "version", "b"), false, &other, &err));
	assert_false(wish_is_same(&one, &other));
	wish_free(&other);
	CHECK_OK(wish("pv", PAIRS("dataset", "train"), false, &other, &err));
	assert_false(wish_is_same(&one, &other));
	wish_free(&one);
	CHECK_OK(wish("pv", PAIRS("dataset", "old"), false, &one, &err));
	assert_false(wish_is_same(&one, &other));
}

static void test_paths(void **state)
{
	auto_wish struct wish found = { 0 };

	CHECK_FAILS(wish("pv", PAIRS("dataset", "/x"), false, &found, &err), -EPERM, "names a volume");
	CHECK_FAILS(wish("pv", PAIRS(EPHEMERAL, "dataset", "/x"), false, &found, &err), -EPERM, "names a volume");
	CHECK_FAILS(wish(INLINE_VOLUME, PAIRS(PERSISTENT, "dataset", "nvme:uuid:0"), false, &found, &err), -EPERM,
		    "names a volume");
	CHECK_FAILS(wish("pv", PAIRS(PERSISTENT, "dataset", "x"), true, &found, &err), -ENOENT, "no data set 'x'");
	CHECK_FAILS(wish("pv", PAIRS(PERSISTENT, "dataset", "a b"), true, &found, &err), -EINVAL, "is 'a b'");
	CHECK_OK(wish(INLINE_VOLUME, PAIRS(EPHEMERAL, "dataset", "/x"), true, &found, &err));
}

static void assert_options(const struct conf *conf, const char *name, const char *options)
{
	auto_wish struct wish found = { 0 };

	CHECK_OK(wish_by(conf, "pv", PAIRS(PERSISTENT, "dataset", name), &found, &err));
	assert_string_equal(found.options, options);
}

static void test_trust(void **state)
{
	const struct conf one = { .trust = (char *)"/t" }, both = { .trust = (char *)"/t", .revoked = (char *)"/r" };
	auto_wish struct wish found = { 0 };

	assert_options(&one, "train", "trust=/t");
	assert_options(&both, "/dev/x", "trust=/t,revoked=/r");
	assert_options(&both, "old", "version=v1,suid,trust=/t,revoked=/r");
	assert_options(&both, "own", "suid,trust=/own");
	assert_options(&one, "not", "mistrust=1,trust=/t");
	CHECK_FAILS(wish("pv", PAIRS("dataset", "train", "trust", "/mine"), false, &found, &err), -EINVAL,
		    "unknown attribute 'trust'");
}

static void test_direct_group(void **state)
{
	const struct conf group = { .direct_group = (char *)"2000" };
	const struct conf both = { .trust = (char *)"/t", .direct_group = (char *)"2000" };
	auto_wish struct wish found = { 0 };

	assert_options(&group, "train", "direct_group=2000");
	assert_options(&both, "/dev/x", "trust=/t,direct_group=2000");
	assert_options(&both, "own", "suid,trust=/own,direct_group=2000");
	assert_options(&group, "direct", "direct_group=3000");
	CHECK_FAILS(wish("pv", PAIRS("dataset", "train", "direct_group", "0"), false, &found, &err), -EINVAL,
		    "unknown attribute 'direct_group'");
}

/* ---- targets ---- */

static void test_targets(void **state)
{
	static const char *const refused[] = { "/k", "/k/", "/k/.", "/k/..", "/k/a/../b", "/k/a/", "/k//a", "/kk/a",
					       "k/a", "", "/k/a\nb", "/k/\x7f" };
	const struct target_root root = { .given = "/k", .real = "/srv/k" };
	char target[PATH_MAX];

	CHECK_OK(target_path(&root, "/k/pods/.a/..b/c", target, &err));
	assert_string_equal(target, "/srv/k/pods/.a/..b/c");
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (target_path(&root, refused[i], target, NULL) != -EINVAL)
			fail_msg("'%s' is a target", refused[i]);
}

CHECK_MAIN(cmocka_unit_test(test_round_trip), cmocka_unit_test(test_fixed), cmocka_unit_test(test_damage),
	   cmocka_unit_test(test_limits), cmocka_unit_test(test_status), cmocka_unit_test(test_wishes),
	   cmocka_unit_test(test_paths), cmocka_unit_test(test_targets), cmocka_unit_test(test_trust),
	   cmocka_unit_test(test_direct_group))
