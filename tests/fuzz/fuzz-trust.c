/* SPDX-License-Identifier: MIT */
/* Signatures as they lie on a volume, files of allowed signers, and revoked keys: the first byte says which one
 * follows. A statement that is accepted is written as the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/text/base64.h"
#include "fuzz/fuzz.h"
#include "lib/signed.h"
#include "trust/revoked.h"
#include "trust/signatures.h"
#include "trust/signers.h"
#include "trust/sshsig.h"
#include "trust/statement.h"

#define DATE UINT64_C(1793491200) /* 2026-11-01 */

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

/* The key of the seeds. */
static struct span signing_key(uint8_t bytes[64])
{
	size_t length;

	must(base64_decode(span_text(SIGNED_KEY), bytes, 64, &length));
	return span_of(bytes, length);
}

static void check_statement(struct span text)
{
	char written[STATEMENT_MAX];
	struct statement statement;
	struct error err = { 0 };

	if (statement_parse(text, &statement, &err) < 0) {
		must(err.reason[0]);
		return;
	}
	must(statement_write(&statement, written) == text.size && !memcmp(written, text.base, text.size));
}

static void check_signature(const struct signature *signature)
{
	struct error err = { 0 };
	struct sshsig sshsig;

	check_statement(signature->statement);
	if (sshsig_parse(signature->armour, &sshsig, &err) < 0 ||
	    sshsig_verify(&sshsig, signature->statement, &err) < 0)
		must(err.reason[0]);
}

static void check_signatures(struct span text)
{
	struct error err = { 0 };
	struct signature signature;
	uint64_t left = text.size;
	int r;

	while ((r = signatures_next(&text, &signature, &err)) > 0) {
		must(text.size < left);
		left = text.size;
		check_signature(&signature);
	}
	must(r == 0 ? text.size == 0 : err.reason[0] != '\0');
}

static void check_signers(struct span file)
{
	char name[SIGNERS_NAME_SIZE];
	struct error err = { 0 };
	uint8_t key[64];

	if (signers_find(file, signing_key(key), DATE, name, &err) < 0)
		must(err.reason[0]);
	else
		must(strlen(name) < sizeof(name));
}

static void check_revoked(struct span file)
{
	struct error err = { 0 };
	uint8_t key[64];
	bool has;

	if (revoked_has(file, signing_key(key), &has, &err) < 0)
		must(err.reason[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct span rest;

	if (!length)
		return 0;
	rest = span_of(bytes + 1, length - 1);
	if (*bytes % 3 == 2)
		check_revoked(rest);
	else if (*bytes % 3 == 1)
		check_signers(rest);
	else
		check_signatures(rest);
	return 0;
}
