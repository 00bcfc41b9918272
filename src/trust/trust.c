/* SPDX-License-Identifier: MIT */
/* Asks of each signature: is it of this version, is it good, is its key allowed at the version's date, and not
 * revoked? */
#include "trust/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trust/revoked.h"
#include "trust/signatures.h"
#include "trust/sshsig.h"
#include "trust/statement.h"
#include "trust/trust_file.h"

/* A question, with the bytes of the files. */
struct trust_query {
	const struct trust *trust;
	struct span signers, revoked;
	const struct version *version;
	const uint8_t *volume;
};

static int trust_check_revoked(const struct trust_query *query, const struct trust_signer *signer, struct span key,
			       struct error *err)
{
	bool is_revoked = false;
	int r = query->trust->revoked ? revoked_has(query->revoked, key, &is_revoked, err) : 0;

	if (r < 0)
		return error_wrap(err, r, "'%s'", query->trust->revoked);
	return is_revoked ? error_set(err, -EKEYREJECTED, "the key %s of '%s' is revoked", signer->key, signer->name) :
			    0;
}

static int trust_check_key(const struct trust_query *query, struct span key, struct trust_signer *signer,
			   struct error *err)
{
	int r = signers_find(query->signers, key, signer->date, signer->name, err);

	if (r < 0)
		return r == -EINVAL ? error_wrap(err, r, "'%s'", query->trust->signers) : r;
	r = sshkey_fingerprint(key, signer->key, err);
	return r < 0 ? r : trust_check_revoked(query, signer, key, err);
}

static int trust_check_one(const struct trust_query *query, const struct signature *signature,
			   struct trust_signer *ret, struct error *err)
{
	struct trust_signer signer = { .name = "" };
	struct statement statement;
	struct sshsig sshsig;
	int r = signatures_verify(signature, query->version, query->volume, &statement, &sshsig, err);

	if (r < 0)
		return r == -EBADMSG ? -EKEYREJECTED : r;
	signer.date = statement.created;
	r = trust_check_key(query, sshsig.key, &signer, err);
	if (r == 0)
		*ret = signer;
	return r;
}

/* Takes the first signature that counts. A file that cannot be read decides at once, a signature does not. */
static int trust_check_all(const struct trust_query *query, struct trust_signer *ret, struct error *err)
{
	struct span text = signatures_of(query->version);
	struct signature signature;
	int r = -EKEYREJECTED, next;

	if (!text.size)
		return error_set(err, -EKEYREJECTED, "it is not signed");
	while (r == -EKEYREJECTED) {
		next = signatures_next(&text, &signature, err);
		if (next <= 0)
			break;
		r = trust_check_one(query, &signature, ret, err);
	}
	return r;
}

int trust_check(const struct trust *trust, const struct version *version, const uint8_t volume[16],
		struct trust_signer *ret, struct error *err)
{
	struct trust_query query = { .trust = trust, .version = version, .volume = volume };
	struct error why = { 0 };
	int r;

	*ret = (struct trust_signer){ .name = "" };
	if (!trust->signers)
		return 0;
	r = trust_file_read(trust->signers, &query.signers, &why);
	if (r == 0 && trust->revoked)
		r = trust_file_read(trust->revoked, &query.revoked, &why);
	if (r == 0)
		r = trust_check_all(&query, ret, &why);
	free((void *)query.signers.base);
	free((void *)query.revoked.base);
	if (r == -EKEYREJECTED)
		return error_set(err, r, "version '%s' is not trusted: %s", version->label, why.reason);
	return r < 0 ? error_set(err, r, "version '%s' cannot be trusted: %s", version->label, why.reason) : 0;
}
