/* SPDX-License-Identifier: MIT */
/* Finds the keys for an object store where other tools find them: in the environment, and in the files of AWS. */
#pragma once
#include "base/error.h"

/* Strings that live until the process ends. */
struct credentials {
	char *key, *secret; /* NULL: there are none, as for public buckets */
	char *token;        /* of temporary ones, or NULL */
	char *region;       /* or NULL */
};

/* Reads the environment, then the files for the profile AWS_PROFILE, which may have a region for keys of the
 * environment too. -ENOENT: there is no such profile; -ENOTSUP: it gets its keys in a way that is not known here. */
must_check int credentials_find(struct credentials *ret, struct error *err);
/* Overwrites the secrets in the environment of this process, for all that are forked from it later. */
void credentials_forget(void);
