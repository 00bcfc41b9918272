/* SPDX-License-Identifier: MIT */
/* Takes the armour off, and computes the signed bytes: the message's sum with the namespace. */
#include "trust/sshsig.h"

#include <errno.h>
#include <string.h>

#include "base/text/base64.h"
#include "trust/pubkey.h"
#include "trust/sshwire.h"

#define SSHSIG_MAGIC "SSHSIG"

static int sshsig_bad(const char *what, struct error *err)
{
	return error_set(err, -EBADMSG, "signature: %s", what);
}

static int sshsig_fields(struct sshsig *s, struct error *err)
{
	struct sshwire wire = { .rest = span_of(s->bytes, s->length) };
	struct span magic = sshwire_bytes(&wire, strlen(SSHSIG_MAGIC));
	uint64_t version = sshwire_number(&wire, 4);

	s->key = sshwire_string(&wire);
	s->name_space = sshwire_string(&wire);
	s->reserved = sshwire_string(&wire);
	s->sum = sshwire_string(&wire);
	s->signature = sshwire_string(&wire);
	if (!sshwire_equals(magic, SSHSIG_MAGIC) || version != 1 || !sshwire_is_done(&wire))
		return sshsig_bad("it is not one of SSH, of format 1", err);
	return 0;
}

int sshsig_parse(struct span text, struct sshsig *ret, struct error *err)
{
	const size_t begin = strlen(SSHSIG_BEGIN), end = strlen(SSHSIG_END);

	if (text.size < begin + end || memcmp(text.base, SSHSIG_BEGIN, begin) != 0 ||
	    memcmp(text.base + text.size - end, SSHSIG_END, end) != 0)
		return sshsig_bad("it has not the lines that SSH puts around one", err);
	if (!base64_decode(span_of(text.base + begin, text.size - begin - end), ret->bytes, sizeof(ret->bytes),
			   &ret->length))
		return sshsig_bad("it is not base64, or too long", err);
	return sshsig_fields(ret, err);
}

/* Appends a field with its length. The room is that of all fields of a signature and a sum. */
static size_t sshsig_put(uint8_t *to, size_t at, struct span bytes)
{
	for (int i = 0; i < 4; i++)
		to[at++] = (uint8_t)(bytes.size >> (24 - 8 * i));
	if (bytes.size)
		memcpy(to + at, bytes.base, bytes.size);
	return at + bytes.size;
}

/* The names of sums that a signature may have, in SSH and in libcrypto. */
static const struct sshsig_sum {
	const char *ssh, *libcrypto;
	size_t size;
} sshsig_sums[] = { { "sha256", "SHA256", 32 }, { "sha512", "SHA512", 64 } };

static const struct sshsig_sum *sshsig_find_sum(struct span name)
{
	for (size_t i = 0; i < sizeof(sshsig_sums) / sizeof(*sshsig_sums); i++)
		if (sshwire_equals(name, sshsig_sums[i].ssh))
			return &sshsig_sums[i];
	return NULL;
}

int sshsig_verify(const struct sshsig *s, struct span message, struct error *err)
{
	uint8_t told[SSHSIG_MAX + PUBKEY_SUM_MAX + 32], sum[PUBKEY_SUM_MAX];
	const struct sshsig_sum *kind = sshsig_find_sum(s->sum);
	size_t length = strlen(SSHSIG_MAGIC);
	int r;

	if (!sshwire_equals(s->name_space, SSHSIG_NAMESPACE))
		return error_set(err, -EKEYREJECTED, "the signature is for another use, expected the namespace '"
				 SSHSIG_NAMESPACE "'");
	if (!kind)
		return error_set(err, -EKEYREJECTED, "the signature has a sum that is neither sha256 nor sha512");
	r = pubkey_sum(kind->libcrypto, message, sum, err);
	if (r < 0)
		return r;
	memcpy(told, SSHSIG_MAGIC, length);
	length = sshsig_put(told, length, s->name_space);
	length = sshsig_put(told, length, s->reserved);
	length = sshsig_put(told, length, s->sum);
	length = sshsig_put(told, length, span_of(sum, kind->size));
	return sshkey_verify(s->key, s->signature, span_of(told, length), err);
}
