/* SPDX-License-Identifier: MIT */
/* Takes signatures apart; one that is malformed shows as such. */
#include "list/signed.h"

#include <stdio.h>

#include "base/text/format.h"
#include "trust/signatures.h"
#include "trust/sshsig.h"
#include "trust/statement.h"

#define SIGNED_SHOWN 23 /* characters of a fingerprint in the table: "SHA256:" and 16 more */

/* False: the signature is malformed. */
static bool signed_fingerprint(const struct signature *signature, char text[SSHKEY_FINGERPRINT_SIZE])
{
	struct sshsig sshsig;

	return sshsig_parse(signature->armour, &sshsig, NULL) == 0 && sshkey_fingerprint(sshsig.key, text, NULL) == 0;
}

static void signed_json_one(struct json *json, const struct signature *signature)
{
	char key[SSHKEY_FINGERPRINT_SIZE], date[STATEMENT_DATE_SIZE];
	struct statement statement;

	json_begin_object(json, NULL);
	if (signed_fingerprint(signature, key))
		json_string(json, "key", key);
	else
		json_null(json, "key");
	if (statement_parse(signature->statement, &statement, NULL) == 0) {
		json_string(json, "signed", statement_date(statement.created, date));
		json_bool(json, "any_volume", statement.any_volume);
	}
	json_end_object(json);
}

void signed_json(struct json *json, const char *key, const struct version *version)
{
	struct span text = signatures_of(version);
	struct signature signature;

	json_begin_array(json, key);
	while (signatures_next(&text, &signature, NULL) > 0)
		signed_json_one(json, &signature);
	json_end_array(json);
}

const char *signed_text(const struct version *version, char text[SIGNED_TEXT_SIZE])
{
	char key[SSHKEY_FINGERPRINT_SIZE] = "malformed";
	struct span rest = signatures_of(version);
	struct signature signature;
	unsigned more = 0;

	if (signatures_next(&rest, &signature, NULL) <= 0)
		return "-";
	(void)signed_fingerprint(&signature, key);
	while (signatures_next(&rest, &signature, NULL) > 0)
		more++;
	if (more)
		snprintf(text, SIGNED_TEXT_SIZE, "%.*s +%u", SIGNED_SHOWN, key, more);
	else
		snprintf(text, SIGNED_TEXT_SIZE, "%.*s", SIGNED_SHOWN, key);
	return text;
}
