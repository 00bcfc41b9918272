/* SPDX-License-Identifier: MIT */
/* A signature as ssh-keygen -Y sign makes it: OpenSSH's PROTOCOL.sshsig. */
#pragma once
#include "base/error.h"
#include "base/span.h"
#include "trust/sshkey.h"

#define SSHSIG_BEGIN "-----BEGIN SSH SIGNATURE-----\n"
#define SSHSIG_END   "-----END SSH SIGNATURE-----\n"
#define SSHSIG_NAMESPACE "datasetfs" /* what ssh-keygen -n must be given */
#define SSHSIG_MAX   4096u /* bytes of a signature without its armour */

/* A parsed signature. The spans point into bytes. */
struct sshsig {
	struct span key, name_space, reserved, sum, signature;
	size_t length;
	uint8_t bytes[SSHSIG_MAX];
};

/* Reads a text of one signature, with its armour and nothing else. *ret must not move. -EBADMSG: it is malformed. */
must_check int sshsig_parse(struct span text, struct sshsig *ret, struct error *err);
/* Checks that the signature is by its key, of this message, in the namespace "datasetfs". -EKEYREJECTED: it is not.
 * Whether that key counts is for others to say. */
must_check int sshsig_verify(const struct sshsig *sshsig, struct span message, struct error *err);
