/* SPDX-License-Identifier: MIT */
/* Requests over HTTP and HTTPS, one after the other, over connections that are kept. Each thread has its own. Follows
 * no redirects and repeats nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HTTP_TEXT    256u
#define HTTP_UNKNOWN UINT64_MAX

struct http;

struct http_setup {
	const char *ca_file; /* certificates in PEM that may sign those of servers; NULL: those of the machine */
	unsigned timeout;    /* seconds without a byte after which a request fails */
};

/* By whom requests to an object store are signed. */
struct http_account {
	const char *region;
	const char *user;  /* access key and secret key with a colon between them; NULL: requests are not signed */
	const char *token; /* of temporary keys, or NULL */
};

struct http_answer {
	unsigned status;
	char etag[HTTP_TEXT], modified[HTTP_TEXT]; /* "": there is none, or it is too long */
	uint64_t first;       /* byte of the object at which the content begins */
	uint64_t end;         /* byte of the object behind the last one of the content */
	uint64_t total;       /* bytes of the object; HTTP_UNKNOWN, as may be first and end */
	bool is_open;         /* the content ends with the connection, so that a part of it looks complete */
	uint64_t retry_after; /* seconds that the server asks to wait */
	const char *redirect; /* URL, or NULL; valid until the next request */
	char region[HTTP_TEXT]; /* where the object store says that the bucket is, or "" */
};

/* A function that takes the next bytes of the content. */
typedef int http_sink(void *argument, const struct http_answer *answer, const void *bytes, size_t length,
		      struct error *err);

struct http_request {
	const char *url;
	uint64_t from;         /* first byte that is wanted of the object */
	const char *condition; /* header, or "" */
	const struct http_account *account; /* NULL: the server is no object store */
	http_sink *sink;       /* for the content of an answer with status 200 or 206 */
	void *argument;
};

/* Loads libcurl and reads the file of certificates. Both stay until the process ends. */
must_check int http_open(const struct http_setup *setup, struct http **ret, struct error *err);
/* Makes another one, for another thread, with the same settings. */
must_check int http_copy(const struct http *http, struct http **ret, struct error *err);
void http_close(struct http *http); /* of http_copy(); takes NULL */
/* Makes a request: 0 and the answer, whatever its status is. -EAGAIN: no answer, or half of one, came, and may if the
 * request is repeated. */
must_check int http_get(struct http *http, const struct http_request *request, struct http_answer *ret,
			struct error *err);
