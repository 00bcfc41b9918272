/* SPDX-License-Identifier: MIT */
/* Takes keys and signatures apart: RFC 8709, RFC 5656, OpenSSH's PROTOCOL.u2f. */
#include "trust/sshkey.h"

#include <errno.h>
#include <string.h>

#include "base/text/base64.h"
#include "trust/pubkey.h"
#include "trust/sshwire.h"

#define SSHKEY_ED25519    "ssh-ed25519"
#define SSHKEY_P256       "ecdsa-sha2-nistp256"
#define SSHKEY_SK_ED25519 "sk-ssh-ed25519@openssh.com"

struct span sshkey_kind(struct span key)
{
	struct sshwire wire = { .rest = key };

	return sshwire_string(&wire);
}

bool sshkey_is_known(struct span kind)
{
	return sshwire_equals(kind, SSHKEY_ED25519) || sshwire_equals(kind, SSHKEY_P256) ||
	       sshwire_equals(kind, SSHKEY_SK_ED25519);
}

int sshkey_fingerprint(struct span key, char text[SSHKEY_FINGERPRINT_SIZE], struct error *err)
{
	static const char kind[] = "SHA256:";
	uint8_t sum[PUBKEY_SUM_MAX];
	int r = pubkey_sum("SHA256", key, sum, err);

	if (r < 0)
		return r;
	memcpy(text, kind, sizeof(kind));
	base64_encode(sum, 32, text + strlen(kind));
	return 0;
}

static int sshkey_bad(const char *what, struct error *err)
{
	return error_set(err, -EKEYREJECTED, "the %s is malformed", what);
}

static int sshkey_verify_ed25519(struct sshwire key, struct sshwire signature, struct span message, struct error *err)
{
	struct span point = sshwire_string(&key), bytes = sshwire_string(&signature);

	if (!sshwire_is_done(&key) || !sshwire_is_done(&signature))
		return sshkey_bad(SSHKEY_ED25519 " signature", err);
	return pubkey_verify_ed25519(point, bytes, message, err);
}

/* A positive number has a zero in front if its highest bit is set. */
static bool sshkey_is_positive(struct span number)
{
	return number.size && !(number.base[0] & 0x80);
}

static int sshkey_verify_p256(struct sshwire key, struct sshwire signature, struct span message, struct error *err)
{
	struct span curve = sshwire_string(&key), point = sshwire_string(&key);
	struct sshwire halves = { .rest = sshwire_string(&signature) };
	struct span r = sshwire_string(&halves), s = sshwire_string(&halves);

	if (!sshwire_is_done(&key) || !sshwire_is_done(&signature) || !sshwire_is_done(&halves) ||
	    !sshwire_equals(curve, "nistp256") || !sshkey_is_positive(r) || !sshkey_is_positive(s))
		return sshkey_bad(SSHKEY_P256 " signature", err);
	return pubkey_verify_p256(point, r, s, message, err);
}

/* A token signs the sum of its application, a byte of flags, a counter, and the sum of the message. */
static int sshkey_verify_sk(struct sshwire key, struct sshwire signature, struct span message, struct error *err)
{
	struct span point = sshwire_string(&key), application = sshwire_string(&key);
	struct span bytes = sshwire_string(&signature), tail = sshwire_bytes(&signature, 5);
	uint8_t told[32 + 5 + 32], sum[PUBKEY_SUM_MAX];
	int r;

	if (!sshwire_is_done(&key) || !sshwire_is_done(&signature))
		return sshkey_bad(SSHKEY_SK_ED25519 " signature", err);
	r = pubkey_sum("SHA256", application, sum, err);
	if (r < 0)
		return r;
	memcpy(told, sum, 32);
	memcpy(told + 32, tail.base, 5);
	r = pubkey_sum("SHA256", message, sum, err);
	if (r < 0)
		return r;
	memcpy(told + 37, sum, 32);
	return pubkey_verify_ed25519(point, bytes, span_of(told, sizeof(told)), err);
}

int sshkey_verify(struct span key, struct span signature, struct span message, struct error *err)
{
	struct sshwire of_key = { .rest = key }, of_signature = { .rest = signature };
	struct span kind = sshwire_string(&of_key), same = sshwire_string(&of_signature);
	struct error why = { 0 };
	int r;

	if (!kind.size)
		return sshkey_bad("key", err);
	if (!sshkey_is_known(kind))
		return error_set(err, -EKEYREJECTED, "its key is of another kind than " SSHKEY_KINDS);
	if (kind.size != same.size || memcmp(kind.base, same.base, kind.size) != 0)
		return sshkey_bad("signature", err);
	if (sshwire_equals(kind, SSHKEY_ED25519))
		r = sshkey_verify_ed25519(of_key, of_signature, message, &why);
	else if (sshwire_equals(kind, SSHKEY_P256))
		r = sshkey_verify_p256(of_key, of_signature, message, &why);
	else
		r = sshkey_verify_sk(of_key, of_signature, message, &why);
	if (r == -EKEYREJECTED && !why.reason[0])
		return error_set(err, r, "the signature is not of this statement, or not by this key");
	return r < 0 ? error_pass(err, r, &why) : 0;
}
