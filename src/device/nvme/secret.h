/* SPDX-License-Identifier: MIT */
/* Secrets of DH-HMAC-CHAP, by which hosts and targets prove who they are: "DHHC-1:HH:BASE64:", as 'nvme gen-dhchap-key'
 * prints them. No error has a secret in it. */
#pragma once
#include <string.h>

#include "base/error.h"

#define SECRET_SIZE 128u /* bytes of the longest one, and a NUL */

struct secret {
	char text[SECRET_SIZE]; /* empty: none */
};

/* Reads a file with one line. -EPERM: it is not the user's or root's, or others may read it. */
must_check int secret_read_file(const char *path, struct secret *ret, struct error *err);
/* Reads a key of the type "user" that this process finds by its description, also in the keyring of its user. */
must_check int secret_read_key(const char *description, struct secret *ret, struct error *err);

static inline void secret_wipe(struct secret *secret)
{
	explicit_bzero(secret, sizeof(*secret));
}
#define auto_secret cleanup(secret_wipe)
