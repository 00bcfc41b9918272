/* SPDX-License-Identifier: MIT */
/* Lists the objects of a bucket whose keys begin with a prefix, a page at a time. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "source/remote/http.h"

struct bucket_setup;

struct keys_object {
	char *key;      /* without the prefix */
	char *etag;     /* or NULL */
	uint64_t size;
	int64_t mtime;  /* seconds */
	bool has_zero;  /* the key has a zero byte, which is %00 here */
};

struct keys_setup {
	const struct bucket_setup *bucket;
	const struct http_account *account;
	const char *source; /* s3://BUCKET/PREFIX/ */
	unsigned retries;
	void (*warn)(void *argument, const char *line);
	int (*each)(void *argument, struct keys_object *object, struct error *err); /* may take its strings away */
	void *argument;
};

/* Calls each for all objects, in the order of the listing. */
must_check int keys_list(struct http *http, const struct keys_setup *setup, struct error *err);
void keys_free(struct keys_object *object);
