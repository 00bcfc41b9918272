/* SPDX-License-Identifier: MIT */
/* Walks the text by the lines around signatures. */
#include "trust/signatures.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* Returns the offset behind a line in the text, or 0 if it is not there. */
static uint64_t signatures_behind(struct span text, const char *line)
{
	const uint8_t *at = text.size ? memmem(text.base, text.size, line, strlen(line)) : NULL;

	return at ? (uint64_t)(at - text.base) + strlen(line) : 0;
}

int signatures_next(struct span *text, struct signature *ret, struct error *err)
{
	uint64_t begin = signatures_behind(*text, SSHSIG_BEGIN), end = signatures_behind(*text, SSHSIG_END);

	if (!text->size)
		return 0;
	if (!begin || end <= begin)
		return error_set(err, -EBADMSG, "signatures: %s of the last one is missing",
				 begin ? "the end" : "the beginning");
	begin -= strlen(SSHSIG_BEGIN);
	*ret = (struct signature){ span_of(text->base, begin), span_of(text->base + begin, end - begin) };
	*text = span_of(text->base + end, text->size - end);
	return 1;
}

int signatures_verify(const struct signature *signature, const struct version *version, const uint8_t volume[16],
		      struct statement *ret_statement, struct sshsig *ret_sshsig, struct error *err)
{
	int r = statement_parse(signature->statement, ret_statement, err);

	if (r == 0)
		r = statement_check(ret_statement, version, volume, err);
	if (r == 0)
		r = sshsig_parse(signature->armour, ret_sshsig, err);
	return r < 0 ? r : sshsig_verify(ret_sshsig, signature->statement, err);
}

/* Whether a signature that is kept is by this key. A malformed one is by no key. */
static bool signatures_is_by(const struct signature *signature, struct span key)
{
	struct sshsig sshsig;

	return sshsig_parse(signature->armour, &sshsig, NULL) == 0 && sshsig.key.size == key.size &&
	       !memcmp(sshsig.key.base, key.base, key.size);
}

static size_t signatures_append(char *to, size_t length, struct span bytes)
{
	if (bytes.size)
		memcpy(to + length, bytes.base, bytes.size);
	return length + bytes.size;
}

/* Copies all signatures but those by the key, up to one that is malformed, and returns their length. */
static size_t signatures_keep(struct span text, struct span key, char *to)
{
	struct signature signature = { 0 };
	size_t length = 0;

	while (signatures_next(&text, &signature, NULL) > 0) {
		if (signatures_is_by(&signature, key))
			continue;
		length = signatures_append(to, length, signature.statement);
		length = signatures_append(to, length, signature.armour);
	}
	return length;
}

int signatures_add(struct version *version, const struct signature *signature, struct error *err)
{
	auto_free char *text = malloc(version->signature_bytes + signature->statement.size + signature->armour.size);
	struct sshsig sshsig;
	int r = text ? sshsig_parse(signature->armour, &sshsig, err) : error_no_memory(err);
	size_t length;

	if (r < 0)
		return r;
	length = signatures_keep(signatures_of(version), sshsig.key, text);
	length = signatures_append(text, length, signature->statement);
	length = signatures_append(text, length, signature->armour);
	if (length > DSFS_SIGNATURES_MAX)
		return error_set(err, -E2BIG, "version '%s': its signatures would take %zu bytes, expected at most %u",
				 version->label, length, DSFS_SIGNATURES_MAX);
	free(version->signatures);
	version->signatures = take_ptr(&text);
	version->signature_bytes = (uint32_t)length;
	version->feature_compat |= DSFS_VERSION_COMPAT_SIGNED;
	return 0;
}
