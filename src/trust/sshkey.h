/* SPDX-License-Identifier: MIT */
/* A public key as SSH encodes it, and the signatures of the three kinds of keys that may sign versions. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"

#define SSHKEY_MAX              4096u /* bytes of an encoded key */
#define SSHKEY_FINGERPRINT_SIZE 56    /* "SHA256:", 43 characters and a NUL, rounded up */
#define SSHKEY_KINDS            "ssh-ed25519, ecdsa-sha2-nistp256 or sk-ssh-ed25519@openssh.com"

/* Returns the name of the key's kind; an empty span if the key is cut. */
struct span sshkey_kind(struct span key);
/* Whether signatures by keys of this kind can be checked. */
bool sshkey_is_known(struct span kind);
/* Formats the fingerprint that ssh-keygen -l shows. */
must_check int sshkey_fingerprint(struct span key, char text[SSHKEY_FINGERPRINT_SIZE], struct error *err);
/* Checks the signature, as SSH encodes it. -EKEYREJECTED, with the reason: it is not the key's. */
must_check int sshkey_verify(struct span key, struct span signature, struct span message, struct error *err);
