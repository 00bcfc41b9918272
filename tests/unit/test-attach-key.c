/* SPDX-License-Identifier: MIT */
/* The key of a shared mount: what consumers and the administrator may say, what makes two keys the same, and the
 * command line that comes of one. */
#include "lib/check.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/key.h"
#include "base/cleanup.h"

static void key_of(struct key *key, const char *list)
{
	CHECK_OK(key_begin("/volume", key, &err));
	CHECK_OK(key_say_list(key, KEY_ADMIN, list, &err));
}

static void assert_names(const char *list, const char *other, bool are_equal)
{
	char name[KEY_NAME_SIZE], second[KEY_NAME_SIZE];
	auto_key struct key a = { 0 };
	auto_key struct key b = { 0 };

	key_of(&a, list);
	key_of(&b, other);
	CHECK_OK(key_name(&a, name, &err));
	CHECK_OK(key_name(&b, second, &err));
	assert_int_equal(strlen(name), KEY_NAME_SIZE - 1);
	assert_int_equal(!strcmp(name, second), are_equal);
}

static void test_names(void **state)
{
	assert_names("version=v1,readahead=4M,io=auto", "io=auto,readahead=4M,version=v1", true);
	assert_names("", ",", true);
	assert_names("version=v1", "version=v2", false);
	assert_names("version=v1", "", false);
	assert_names("io=auto", "io=threads", false);
	assert_names("exec", "noexec", false);
	assert_names("follow=current", "", false);
	assert_names("kernel", "engine=kernel", true);
	assert_names("kernel", "", false);
	assert_names("engine=fuse", "", true);
}

static void test_uuid(void **state)
{
	char name[KEY_NAME_SIZE], second[KEY_NAME_SIZE];
	auto_key struct key key = { 0 };

	key_of(&key, "version=v1");
	CHECK_OK(key_name(&key, name, &err));
	key.uuid[15] = 1; /* another version under the same label */
	CHECK_OK(key_name(&key, second, &err));
	assert_string_not_equal(name, second);
}

#define ZEROS  "00000000000000000000000000000000000000000000000000000000000000"
#define DIGEST "digest=sha256:ab" ZEROS

static void test_digest(void **state)
{
	auto_key struct key key = { 0 };

	assert_names(DIGEST, "digest=sha256:AB" ZEROS, true);
	assert_names(DIGEST, "digest=sha256:ac" ZEROS, false);
	assert_names(DIGEST, "", false);
	CHECK_OK(key_begin("/volume", &key, &err));
	CHECK_FAILS(key_say(&key, KEY_CONSUMER, "digest=sha256:00", &err), -EINVAL, "expected 64 hexadecimal digits");
	CHECK_FAILS(key_say(&key, KEY_CONSUMER, "digest=" ZEROS, &err), -EINVAL, "does not begin with 'sha256:'");
	CHECK_FAILS(key_say(&key, KEY_ADMIN, "digest", &err), -EINVAL, "does not begin with 'sha256:'");
}

static void test_consumers(void **state)
{
	static const char *const theirs[] = { "version=v1", DIGEST };
	static const char *const not_theirs[] = {
		"suid", "allow_suid", "allow_other", "control_group=0", "direct_group=0", "verify=never", "workers=9",
		"io=threads", "readahead=4M", "nosupervisor", "deadline=1", "versionx=1", "Version=v1", "trust=/x",
		"revoked=/x", "kernel",
		"cache=/x", "prefetch=off", "follow=current:1", "follow",
	};
	auto_key struct key key = { 0 };

	CHECK_OK(key_begin("/volume", &key, &err));
	for (size_t i = 0; i < sizeof(theirs) / sizeof(*theirs); i++)
		CHECK_OK(key_say(&key, KEY_CONSUMER, theirs[i], &err));
	for (size_t i = 0; i < sizeof(not_theirs) / sizeof(*not_theirs); i++)
		CHECK_FAILS(key_say(&key, KEY_CONSUMER, not_theirs[i], &err), -EPERM,
			    "is for the administrator of the machine");
	CHECK_OK(key_say(&key, KEY_ADMIN, "suid", &err));
}

static void test_refusals(void **state)
{
	auto_key struct key key = { 0 };
	auto_key struct key follows = { 0 };

	CHECK_FAILS(key_begin("/vol\nume", &key, &err), -EINVAL, "control character");
	CHECK_OK(key_begin("/volume", &key, &err));
	CHECK_FAILS(key_say(&key, KEY_CONSUMER, "version=v1,suid", &err), -EINVAL, "holds a comma");
	CHECK_FAILS(key_say(&key, KEY_CONSUMER, "follow=current\nsuid", &err), -EINVAL, "control character");
	CHECK_FAILS(key_say(&key, KEY_CONSUMER, "version=../x", &err), -EINVAL, "expected letters");
	CHECK_FAILS(key_say(&key, KEY_CONSUMER, "version", &err), -EINVAL, "needs a value");
	CHECK_FAILS(key_say(&key, KEY_ADMIN, "=v1", &err), -EINVAL, "has no name");
	CHECK_FAILS(key_say(&key, KEY_ADMIN, "trust=signers", &err), -EINVAL, "expected 'trust=' and an absolute path");
	CHECK_FAILS(key_say(&key, KEY_ADMIN, "revoked", &err), -EINVAL, "expected 'revoked=' and an absolute path");
	CHECK_FAILS(key_say(&key, KEY_ADMIN, "cache=folder", &err), -EINVAL, "expected 'cache=' and an absolute path");
	CHECK_FAILS(key_say(&key, KEY_ADMIN, "max_mounts=0", &err), -ERANGE, "option 'max_mounts': ");
	CHECK_OK(key_say(&key, KEY_CONSUMER, "version=v1", &err));
	CHECK_FAILS(key_say(&key, KEY_ADMIN, "version=v1", &err), -EINVAL, "is given twice");
	CHECK_OK(key_say(&key, KEY_ADMIN, "io=auto", &err));
	CHECK_FAILS(key_say(&key, KEY_ADMIN, "io=threads", &err), -EINVAL, "option 'io' is given twice");
	CHECK_OK(key_begin("/volume", &follows, &err));
	CHECK_OK(key_say(&follows, KEY_CONSUMER, "follow=current", &err));
	CHECK_FAILS(key_say(&follows, KEY_CONSUMER, DIGEST, &err), -EINVAL, "combined with 'digest'");
}

static void test_engine(void **state)
{
	auto_key struct key key = { 0 };
	auto_key struct key follows = { 0 };
	auto_key struct key theirs = { 0 };
	auto_key struct key admins = { 0 };
	auto_key struct key both = { 0 };
	auto_key struct key pinned = { 0 };
	auto_key struct key chosen = { 0 };

	CHECK_OK(key_begin("/volume", &key, &err));
	CHECK_FAILS(key_say(&key, KEY_CONSUMER, "engine", &err), -EINVAL, "expected engine=kernel or engine=fuse");
	CHECK_FAILS(key_say(&key, KEY_CONSUMER, "engine=Kernel", &err), -EINVAL, "expected engine=kernel");
	CHECK_FAILS(key_say(&key, KEY_ADMIN, "kernel=1", &err), -EINVAL, "expected engine=kernel");
	CHECK_OK(key_say(&key, KEY_ADMIN, "engine=fuse", &err));
	CHECK_FAILS(key_say(&key, KEY_CONSUMER, "engine=kernel", &err), -EINVAL,
		    "the other engine was chosen before, by 'engine=fuse'");
	CHECK_OK(key_say(&key, KEY_CONSUMER, "engine=fuse", &err));
	assert_false(key.is_kernel);
	CHECK_OK(key_begin("/volume", &follows, &err));
	CHECK_OK(key_say(&follows, KEY_ADMIN, "follow=current:9", &err));
	CHECK_FAILS(key_say(&follows, KEY_CONSUMER, "engine=kernel", &err), -EINVAL,
		    "cannot be combined with 'kernel', as what was attached keeps its version");
	CHECK_OK(key_begin("/volume", &theirs, &err));
	CHECK_OK(key_say(&theirs, KEY_CONSUMER, "engine=kernel", &err));
	CHECK_FAILS(key_say(&theirs, KEY_ADMIN, "trust=/signers", &err), -EPERM, "the kernel verifies no content");
	CHECK_OK(key_begin("/volume", &admins, &err));
	CHECK_OK(key_say_list(&admins, KEY_ADMIN, "kernel,trust=/signers", &err));
	CHECK_OK(key_say(&admins, KEY_CONSUMER, "engine=kernel", &err));
	CHECK_FAILS(key_say(&admins, KEY_CONSUMER, "engine=fuse", &err), -EINVAL, "chosen before, by 'kernel'");
	CHECK_OK(key_say(&admins, KEY_CONSUMER, "version=v1", &err));
	assert_true(admins.is_kernel);
	CHECK_OK(key_begin("/volume", &both, &err));
	CHECK_OK(key_say(&both, KEY_CONSUMER, "engine=kernel", &err));
	CHECK_OK(key_say_list(&both, KEY_ADMIN, "trust=/signers,kernel," DIGEST, &err));
	assert_names("kernel", "kernel,engine=kernel", true);
	CHECK_OK(key_begin("/volume", &pinned, &err));
	CHECK_OK(key_say(&pinned, KEY_CONSUMER, "engine=kernel", &err));
	CHECK_FAILS(key_say(&pinned, KEY_ADMIN, DIGEST, &err), -EPERM,
		    "where 'digest' pins the version, as the kernel verifies no content");
	CHECK_OK(key_begin("/volume", &chosen, &err));
	CHECK_OK(key_say(&chosen, KEY_CONSUMER, DIGEST, &err));
	CHECK_OK(key_say(&chosen, KEY_CONSUMER, "engine=kernel", &err)); /* which pins its own version */
}

/* A mount serves a version; somebody who can write the volume has given its UUID to another one since. */
static void test_served(void **state)
{
	uint8_t uuid[16] = { 1 }, digest[32] = { 2 }, other[32] = { 3 };
	auto_key struct key key = { 0 };

	CHECK_OK(key_begin("/volume", &key, &err));
	memcpy(key.uuid, uuid, sizeof(uuid));
	memcpy(key.digest, digest, sizeof(digest));
	assert_true(key_is_served(&key, uuid, digest));
	assert_false(key_is_served(&key, uuid, other));
	assert_false(key_is_served(&key, other, digest));
	CHECK_OK(key_say(&key, KEY_ADMIN, "follow=current", &err));
	assert_true(key_is_served(&key, uuid, other));
	CHECK_OK(key_say(&key, KEY_ADMIN, "trust=/signers", &err));
	assert_false(key_is_served(&key, uuid, digest)); /* no volume has it */
}

static void assert_command(const char *list, const char *const *expected)
{
	auto_free const char **words = NULL;
	auto_free char *version = NULL;
	auto_key struct key key = { 0 };
	size_t i;

	key_of(&key, list);
	CHECK_OK(key_command(&key, "/mount", &words, &version, &err));
	for (i = 0; words[i] && expected[i]; i++)
		assert_string_equal(words[i], expected[i]);
	assert_null(words[i]);
	assert_null(expected[i]);
}

static void test_command(void **state)
{
	static const char *const by_daemon[] = {
		"datasetfs", "-o", "io=auto", "-o", "suid", "-o", "version=v1", "-o", "idmap", "--",
		"/volume", "/mount", NULL,
	};
	static const char *const by_kernel[] = { "datasetfs", "-o", "kernel", "-o", "noexec", "--", "/volume", "/mount",
						 NULL };

	assert_command("version=v1,suid,io=auto", by_daemon);
	assert_command("noexec,engine=kernel", by_kernel);
}

CHECK_MAIN(cmocka_unit_test(test_names), cmocka_unit_test(test_uuid), cmocka_unit_test(test_consumers),
	   cmocka_unit_test(test_digest), cmocka_unit_test(test_refusals), cmocka_unit_test(test_command),
	   cmocka_unit_test(test_engine), cmocka_unit_test(test_served))
