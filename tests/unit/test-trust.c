/* SPDX-License-Identifier: MIT */
/* Signatures that ssh-keygen made, files of allowed signers, and revoked keys. */
#include "lib/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text/base64.h"
#include "lib/signed.h"
#include "trust/revoked.h"
#include "trust/signatures.h"
#include "trust/signers.h"
#include "trust/sshsig.h"
#include "trust/statement.h"

static uint8_t key[SSHKEY_MAX];

static struct span key_of(const char *base64)
{
	size_t length;

	assert_true(base64_decode(span_text(base64), key, sizeof(key), &length));
	return span_of(key, length);
}

static struct span key_of_signer(void)
{
	return key_of(SIGNED_KEY);
}

/* Whether the text is a signature of its statement, by this key. */
static bool is_good(struct span text, struct span signer)
{
	struct signature signature;
	struct sshsig sshsig;

	return signatures_next(&text, &signature, NULL) == 1 && !text.size &&
	       sshsig_parse(signature.armour, &sshsig, NULL) == 0 && sshsig.key.size == signer.size &&
	       !memcmp(sshsig.key.base, signer.base, signer.size) &&
	       sshsig_verify(&sshsig, signature.statement, NULL) == 0;
}

/* No byte of the statement, of the signature or of what a token adds to it may be another one. */
static void assert_no_byte_changes(const char *signed_by, const char *base64)
{
	size_t size = strlen(signed_by);
	struct span signer = key_of(base64);
	char text[2048];

	assert_true(size < sizeof(text));
	memcpy(text, signed_by, size);
	assert_true(is_good(span_of(text, size), signer));
	for (size_t i = 0; i < size; i++) {
		text[i] ^= 1;
		if (is_good(span_of(text, size), signer))
			fail_msg("byte %zu may be changed", i);
		text[i] ^= 1;
	}
	for (size_t cut = 0; cut < size; cut++)
		if (is_good(span_of(text, cut), signer))
			fail_msg("%zu bytes are enough", cut);
}

static void test_a_changed_byte(void **state)
{
	assert_no_byte_changes(signed_text, SIGNED_KEY);
	assert_no_byte_changes(signed_p256, SIGNED_P256_KEY);
	assert_no_byte_changes(signed_sk, SIGNED_SK_KEY);
}

static void test_statement(void **state)
{
	struct span rest = span_of(signed_text, sizeof(signed_text) - 1);
	struct signature signature;
	struct statement statement;

	assert_int_equal(signatures_next(&rest, &signature, NULL), 1);
	assert_int_equal(statement_parse(signature.statement, &statement, NULL), 0);
	assert_string_equal(statement.label, "v1");
	assert_string_equal(statement.sums, "sha256");
	assert_int_equal(statement.created, 1793491200);
	assert_int_equal(statement.digest[31], 0x1f);
	assert_true(statement.any_volume && !statement.has_block_sums);
}

static int find(const char *options, uint64_t date)
{
	char name[SIGNERS_NAME_SIZE], file[512];
	int length = snprintf(file, sizeof(file), "someone %s ssh-ed25519 " SIGNED_KEY "\n", options);

	return signers_find(span_of(file, (size_t)length), key_of_signer(), date, name, NULL);
}

static void test_signers(void **state)
{
	assert_int_equal(find("namespaces=\"datasetfs\"", 1793491200), 0);
	assert_int_equal(find("namespaces=\"git\"", 1793491200), -EKEYREJECTED);
	assert_int_equal(find("valid-before=\"20261102Z\"", 1793491200), 0);
	assert_int_equal(find("valid-before=\"20261031Z\"", 1793491200), -EKEYREJECTED);
	assert_int_equal(find("valid-after=\"20261102Z\"", 1793491200), -EKEYREJECTED);
	assert_int_equal(find("unknown-option", 1793491200), -EINVAL);
}

static void test_revoked(void **state)
{
	struct span revoked = span_of(signed_revoked, sizeof(signed_revoked) - 1);
	uint8_t other[64];
	bool has = false;

	assert_int_equal(revoked_has(revoked, key_of_signer(), &has, NULL), 0);
	assert_true(has);
	memcpy(other, key, sizeof(other));
	other[40] ^= 1;
	assert_int_equal(revoked_has(revoked, span_of(other, key_of_signer().size), &has, NULL), 0);
	assert_false(has);
	for (uint64_t size = 1; size < revoked.size; size++)
		if (revoked_has(span_of(revoked.base, size), key_of_signer(), &has, NULL) == 0)
			assert_true(has || size < 50);
}

static int follow_from(uint64_t date)
{
	return statement_check_date((struct statement_dated){ "v2", 1793491200 },
				    (struct statement_dated){ "v1", date }, "use the switch", NULL);
}

static void test_date(void **state)
{
	assert_int_equal(follow_from(0), 0);
	assert_int_equal(follow_from(1793491200), 0);
	assert_int_equal(follow_from(1793491201), -EKEYREJECTED);
	CHECK_FAILS(statement_check_date((struct statement_dated){ "v1", 1 }, (struct statement_dated){ "v2", 86400 },
					 "use the switch", &err),
		    -EKEYREJECTED,
		    "'v1' is of 1970-01-01T00:00:01Z, older than 'v2' of 1970-01-02T00:00:00Z: use the switch to go "
		    "back");
}

CHECK_MAIN(cmocka_unit_test(test_a_changed_byte), cmocka_unit_test(test_statement), cmocka_unit_test(test_signers),
	   cmocka_unit_test(test_revoked), cmocka_unit_test(test_date))
