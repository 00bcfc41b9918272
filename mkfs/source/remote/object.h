/* SPDX-License-Identifier: MIT */
/* Reads one object from its first byte to its last, through whatever the network does meanwhile. */
#pragma once
#include <stddef.h>

#include "base/error.h"

struct http;
struct http_account;

struct object_setup {
	const char *url;
	const char *name; /* in messages */
	const struct http_account *account; /* see http.h; what is signed follows no redirect */
	unsigned retries; /* how often in a row a request is repeated that has given nothing */
	const char *etag; /* of the object that is wanted, or NULL: as it is now */
	int (*sink)(void *argument, const void *bytes, size_t length, struct error *err);
	void (*restart)(void *argument); /* forgets what came: all is asked for again; NULL: only the rest is */
	void *argument;
	void (*warn)(void *argument, const char *line); /* once, when the first request is repeated */
	void *warn_argument;
};

/* Hands all bytes of the object over. -ESTALE: it has changed meanwhile. */
must_check int object_read(struct http *http, const struct object_setup *setup, struct error *err);
