/* SPDX-License-Identifier: MIT */
/* Asks libcrypto. Its own decoders see lengths that were checked, and no text. */
#include "trust/pubkey.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "base/cleanup.h"

static void pubkey_free_key(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static void pubkey_free_context(EVP_MD_CTX **context)
{
	EVP_MD_CTX_free(*context);
}

static int pubkey_verify(EVP_PKEY *key, const EVP_MD *sum, struct span signature, struct span message,
			 struct error *err)
{
	cleanup(pubkey_free_context) EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (!context || EVP_DigestVerifyInit(context, NULL, sum, NULL, key) != 1)
		return error_no_memory(err);
	return EVP_DigestVerify(context, signature.base, signature.size, message.base, message.size) == 1 ?
		       0 : -EKEYREJECTED;
}

int pubkey_verify_ed25519(struct span key, struct span signature, struct span message, struct error *err)
{
	cleanup(pubkey_free_key) EVP_PKEY *parsed = NULL;

	if (key.size != PUBKEY_ED25519 || signature.size != PUBKEY_ED25519_SIGNATURE)
		return -EKEYREJECTED;
	parsed = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key.base, key.size);
	return parsed ? pubkey_verify(parsed, NULL, signature, message, err) : -EKEYREJECTED;
}

static void pubkey_free_signature(ECDSA_SIG **signature)
{
	ECDSA_SIG_free(*signature);
}

/* Encodes a signature as libcrypto expects it. *ret is for OPENSSL_free(). */
static int pubkey_encode(struct span r, struct span s, unsigned char **ret, struct error *err)
{
	cleanup(pubkey_free_signature) ECDSA_SIG *signature = ECDSA_SIG_new();
	BIGNUM *a = BN_bin2bn(r.base, (int)r.size, NULL), *b = BN_bin2bn(s.base, (int)s.size, NULL);
	int length;

	if (!signature || !a || !b || ECDSA_SIG_set0(signature, a, b) != 1) {
		BN_free(a);
		BN_free(b);
		return error_no_memory(err);
	}
	*ret = NULL;
	length = i2d_ECDSA_SIG(signature, ret);
	return length > 0 ? length : error_no_memory(err);
}

static void pubkey_free_maker(EVP_PKEY_CTX **maker)
{
	EVP_PKEY_CTX_free(*maker);
}

/* Makes a key of a point; NULL: it is not on the curve, or memory is short. */
static EVP_PKEY *pubkey_of_point(struct span point)
{
	char curve[] = "prime256v1";
	const OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve, 0),
		OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)point.base, point.size),
		OSSL_PARAM_construct_end(),
	};
	cleanup(pubkey_free_maker) EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	EVP_PKEY *key = NULL;

	if (maker && EVP_PKEY_fromdata_init(maker) == 1)
		(void)EVP_PKEY_fromdata(maker, &key, EVP_PKEY_PUBLIC_KEY, (OSSL_PARAM *)parameters);
	return key;
}

int pubkey_verify_p256(struct span point, struct span r, struct span s, struct span message, struct error *err)
{
	cleanup(pubkey_free_key) EVP_PKEY *key = NULL;
	unsigned char *encoded;
	int length, result;

	if (point.size != PUBKEY_P256 || point.base[0] != 4 || !r.size || r.size > PUBKEY_P256_HALF || !s.size ||
	    s.size > PUBKEY_P256_HALF)
		return -EKEYREJECTED;
	key = pubkey_of_point(point);
	if (!key)
		return -EKEYREJECTED;
	length = pubkey_encode(r, s, &encoded, err);
	if (length < 0)
		return length;
	result = pubkey_verify(key, EVP_sha256(), span_of(encoded, (uint64_t)length), message, err);
	OPENSSL_free(encoded);
	return result;
}

int pubkey_sum(const char *name, struct span message, uint8_t sum[PUBKEY_SUM_MAX], struct error *err)
{
	const EVP_MD *kind = EVP_get_digestbyname(name);

	if (!kind || EVP_Digest(message.base, message.size, sum, NULL, kind, NULL) != 1)
		return error_set(err, -ENOSYS, "libcrypto has no %s", name);
	return 0;
}
