/* SPDX-License-Identifier: MIT */
/* The second user of libcrypto, apart from sha256.c because programs that hash need no orders. */
#include "image/sums/shake128.h"

#include <openssl/evp.h>
#include <string.h>

int shake128_of(const char *text, uint8_t *out, size_t length, struct error *err)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	int ok = context && EVP_DigestInit_ex(context, EVP_shake128(), NULL) == 1 &&
		 EVP_DigestUpdate(context, text, strlen(text)) == 1 && EVP_DigestFinalXOF(context, out, length) == 1;

	EVP_MD_CTX_free(context);
	return ok ? 0 : error_no_memory(err);
}
