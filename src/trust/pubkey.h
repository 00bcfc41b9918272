/* SPDX-License-Identifier: MIT */
/* The signatures of libcrypto that SSH keys make, and the sums of SSH's messages. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#define PUBKEY_ED25519   32u /* bytes of a key */
#define PUBKEY_ED25519_SIGNATURE 64u
#define PUBKEY_P256      65u /* bytes of a point that is not compressed */
#define PUBKEY_P256_HALF 33u /* most bytes of each half of a signature: 32, and a zero in front */
#define PUBKEY_SUM_MAX   64u

/* Returns 0 if the signature is the key's, else -EKEYREJECTED without a reason, or another error with one. The lengths
 * are checked. */
must_check int pubkey_verify_ed25519(struct span key, struct span signature, struct span message, struct error *err);
/* r and s are the two halves of the signature, positive numbers. The message is summed with SHA-256. */
must_check int pubkey_verify_p256(struct span point, struct span r, struct span s, struct span message,
				  struct error *err);
/* Computes a sum of libcrypto by its name there: SHA1, SHA256, SHA512. */
must_check int pubkey_sum(const char *name, struct span message, uint8_t sum[PUBKEY_SUM_MAX], struct error *err);
