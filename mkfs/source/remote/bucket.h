/* SPDX-License-Identifier: MIT */
/* Turns the name of an object in a store, s3://BUCKET/KEY, into the URL of a request. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

struct bucket_setup {
	const char *endpoint; /* URL of the store, in which {bucket} stands for the bucket; NULL: that of AWS */
	const char *region;
};

/* Returns whether the source is s3://... */
bool bucket_is_named(const char *source);
/* Checks the name, which bucket_is_named() knows: the bucket is one, and there is a key or a prefix. */
must_check int bucket_check(const char *source, struct error *err);
/* These check the value of an option, or of a variable. */
must_check int bucket_check_endpoint(const char *endpoint, struct error *err);
must_check int bucket_check_region(const char *region, struct error *err);
/* Returns whether the source, which bucket_is_named() knows, names all objects below a prefix: s3://BUCKET/PREFIX/. */
bool bucket_is_prefix(const char *source);
/* Returns the key, or the prefix with its slash, or "". */
const char *bucket_key(const char *source);
/* Makes the URL of a page of the listing below the prefix. token: NULL for the first one. *ret: the caller frees it. */
must_check int bucket_list_url(const struct bucket_setup *setup, const char *source, const char *token, char **ret,
			       struct error *err);
/* *ret: the caller frees it. */
must_check int bucket_url(const struct bucket_setup *setup, const char *source, char **ret, struct error *err);
