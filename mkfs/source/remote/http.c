/* SPDX-License-Identifier: MIT */
/* Makes requests with libcurl, which is loaded only where something is fetched: it brings 30 libraries, and many of
 * them do something when a program starts. */
#include "source/remote/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define HTTP_LIBRARY "libcurl.so.4"
#define HTTP_BUFFER  (512l << 10)   /* most bytes that libcurl hands over at once */
#define HTTP_REFUSAL (64u << 10)    /* bytes that are read of an answer without content, to keep the connection */
#define HTTP_CA_MAX  8000000        /* bytes of the longest string that libcurl takes */
#define HTTP_NO_CONTENT "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* libcurl's functions that are used here. */
#define HTTP_CALLS(CALL)                                                                                        \
	CALL(curl_global_init) CALL(curl_easy_init) CALL(curl_easy_setopt) CALL(curl_easy_perform)             \
	CALL(curl_easy_getinfo) CALL(curl_easy_header) CALL(curl_easy_reset) CALL(curl_easy_cleanup)           \
	CALL(curl_easy_strerror) CALL(curl_slist_append) CALL(curl_slist_free_all)
/* Calls go through the table, not through macros that check types with functions of a library that is linked. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

struct http_calls {
#define HTTP_CALL(NAME) __typeof__(NAME) *NAME;
	HTTP_CALLS(HTTP_CALL)
#undef HTTP_CALL
};

struct http {
	struct http_calls calls;
	CURL *curl;
	char *ca; /* certificates, or NULL */
	size_t ca_length;
	unsigned timeout;
	/* the request */
	const struct http_request *request;
	struct http_answer answer;
	bool has_answer;    /* all headers have come */
	uint64_t received;  /* bytes, as libcurl counts them */
	int64_t heard;      /* when the last ones came, or the sink was done with them */
	bool is_late;
	char *redirect;     /* where to, or NULL */
	uint64_t refusal;   /* bytes of an answer without content */
	struct error failed; /* of the sink */
	char reason[CURL_ERROR_SIZE];
};

static atomic_bool http_is_reached; /* a server has answered one of the threads */

/* --- the library --- */

static int http_begin(struct http *http, struct error *err)
{
	http->curl = http->calls.curl_easy_init();
	return http->curl ? 0 : error_no_memory(err);
}

static int http_load(struct http *http, struct error *err)
{
	void *library = dlopen(HTTP_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return error_set(err, -ENOENT, "cannot load libcurl, which fetches URLs: %s", dlerror());
#define HTTP_CALL(NAME)                                                                                      \
	http->calls.NAME = (__typeof__(http->calls.NAME))dlsym(library, #NAME);                         \
	if (!http->calls.NAME)                                                                               \
		return error_set(err, -ENOENT, "libcurl is too old: %s", dlerror());
	HTTP_CALLS(HTTP_CALL)
#undef HTTP_CALL
	return http->calls.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? http_begin(http, err) :
	       error_set(err, -EIO, "libcurl cannot begin");
}

/* Reads the certificates now, because the process may not open them any more when it has lost its rights. */
static int http_read_ca(struct http *http, const char *path, struct error *err)
{
	auto_fclose FILE *file = fopen(path, "re");
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0)
		return error_errno(err, "option '--ca-file': cannot open '%s'", path);
	if (!S_ISREG(st.st_mode) || !st.st_size || st.st_size > HTTP_CA_MAX)
		return error_set(err, -EINVAL, "option '--ca-file': '%s' is no file of certificates, or it is empty or "
				 "has more than %d bytes", path, HTTP_CA_MAX);
	http->ca = malloc((size_t)st.st_size);
	if (!http->ca)
		return error_no_memory(err);
	http->ca_length = fread(http->ca, 1, (size_t)st.st_size, file);
	return http->ca_length == (size_t)st.st_size ? 0 : error_set(err, -EIO, "cannot read '%s'", path);
}

int http_open(const struct http_setup *setup, struct http **ret, struct error *err)
{
	struct http *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return error_no_memory(err);
	http->timeout = setup->timeout;
	r = setup->ca_file ? http_read_ca(http, setup->ca_file, err) : 0;
	if (r == 0)
		r = http_load(http, err);
	*ret = http;
	return r;
}

int http_copy(const struct http *http, struct http **ret, struct error *err)
{
	struct http *copy = calloc(1, sizeof(*copy));
	int r;

	if (!copy)
		return error_no_memory(err);
	copy->calls = http->calls;
	copy->ca = http->ca;
	copy->ca_length = http->ca_length;
	copy->timeout = http->timeout;
	r = http_begin(copy, err);
	if (r == 0)
		*ret = copy;
	else
		free(copy);
	return r;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	http->calls.curl_easy_cleanup(http->curl);
	free(http->redirect);
	free(http);
}

/* --- an answer --- */

static void http_header(struct http *http, const char *name, char text[HTTP_TEXT])
{
	struct curl_header *header;

	text[0] = 0;
	if (http->calls.curl_easy_header(http->curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK &&
	    strlen(header->value) < HTTP_TEXT)
		memcpy(text, header->value, strlen(header->value) + 1);
}

/* Finds out which part of the object comes, and how long the object is. */
static void http_extent(struct http *http, struct http_answer *answer)
{
	char range[HTTP_TEXT], coding[HTTP_TEXT];
	curl_off_t length = -1;
	uint64_t last = HTTP_UNKNOWN - 1;

	http->calls.curl_easy_getinfo(http->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	http_header(http, "Transfer-Encoding", coding);
	http_header(http, "Content-Range", range);
	answer->is_open = length < 0 && !coding[0];
	answer->first = answer->total = HTTP_UNKNOWN;
	if (answer->status == 206) {
		(void)sscanf(range, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64, &answer->first, &last, &answer->total);
	} else if (answer->status == 416) {
		(void)sscanf(range, "bytes */%" SCNu64, &answer->total);
	} else {
		answer->first = 0;
		answer->total = length < 0 ? HTTP_UNKNOWN : (uint64_t)length;
	}
	answer->end = answer->status == 206 ? last + 1 : answer->total;
}

/* Notes the headers, when the first byte of the content comes, or at the end if there is none. */
static void http_note(struct http *http)
{
	struct http_answer *answer = &http->answer;
	long status = 0;

	if (http->has_answer)
		return;
	http->calls.curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200)
		return;
	http->has_answer = true;
	atomic_store(&http_is_reached, true);
	answer->status = (unsigned)status;
	http_header(http, "ETag", answer->etag);
	http_header(http, "Last-Modified", answer->modified);
	http_header(http, "x-amz-bucket-region", answer->region);
	http_extent(http, answer);
}

static bool http_has_content(const struct http *http)
{
	return http->answer.status == 200 || http->answer.status == 206;
}

static size_t http_take(char *bytes, size_t size, size_t count, void *argument)
{
	struct http *http = argument;
	const struct http_request *request = http->request;
	size_t length = size * count;
	bool is_taken;

	http_note(http);
	if (http_has_content(http)) {
		is_taken = request->sink(request->argument, &http->answer, bytes, length, &http->failed) == 0;
	} else {
		http->refusal += length;
		is_taken = http->refusal <= HTTP_REFUSAL;
	}
	http->heard = clock_now();
	return is_taken ? length : 0;
}

/* Ends a request that has had no byte for too long. libcurl calls this about once a second. */
static int http_watch(void *argument, curl_off_t total, curl_off_t received, curl_off_t to_send, curl_off_t sent)
{
	struct http *http = argument;

	(void)total, (void)to_send, (void)sent;
	if ((uint64_t)received != http->received) {
		http->received = (uint64_t)received;
		http->heard = clock_now();
	}
	http->is_late = clock_now() - http->heard > http->timeout * INT64_C(1000000000);
	return http->is_late;
}

/* Keeps where the answer redirects to, as libcurl forgets that with the next request. */
static int http_keep_redirect(struct http *http, struct error *err)
{
	char *redirect = NULL;

	http->calls.curl_easy_getinfo(http->curl, CURLINFO_REDIRECT_URL, &redirect);
	free(http->redirect);
	http->redirect = redirect ? strdup(redirect) : NULL;
	http->answer.redirect = http->redirect;
	return redirect && !http->redirect ? error_no_memory(err) : 0;
}

/* --- a request --- */

static int http_cannot_set(struct http *http, CURLcode code, struct error *err)
{
	return error_set(err, -EIO, "libcurl refuses a setting: %s", http->calls.curl_easy_strerror(code));
}

/* Sets the certificates in place of the machine's file and folder of them. Not every libcurl knows folders. */
static int http_set_certificates(struct http *http, struct error *err)
{
	struct curl_blob blob = { http->ca, http->ca_length, CURL_BLOB_NOCOPY };
	CURLcode code;

	if (!http->ca)
		return 0;
	code = http->calls.curl_easy_setopt(http->curl, CURLOPT_CAPATH, NULL);
	if (code == CURLE_OK || code == CURLE_NOT_BUILT_IN || code == CURLE_UNKNOWN_OPTION)
		code = http->calls.curl_easy_setopt(http->curl, CURLOPT_CAINFO_BLOB, &blob);
	return code == CURLE_OK ? 0 : http_cannot_set(http, code, err);
}

/* Lets libcurl sign the request, in version 4 of AWS. It signs all headers that are given to it, the token too. If it
 * could not sign, it would send the secret key as a password. */
static int http_sign(struct http *http, const struct http_account *account, struct error *err)
{
	char scope[HTTP_TEXT];
	CURLcode code;

	if (!account || !account->user)
		return 0;
	snprintf(scope, sizeof(scope), "aws:amz:%s:s3", account->region);
	code = http->calls.curl_easy_setopt(http->curl, CURLOPT_AWS_SIGV4, scope);
	if (code != CURLE_OK)
		return error_set(err, -ENOTSUP, "libcurl cannot sign requests: %s",
				 http->calls.curl_easy_strerror(code));
	code = http->calls.curl_easy_setopt(http->curl, CURLOPT_USERPWD, account->user);
	return code == CURLE_OK ? 0 : http_cannot_set(http, code, err);
}

/* Prepares the request, apart from certificates and the signature. */
static int http_prepare(struct http *http, struct curl_slist *headers, struct error *err)
{
	CURL *curl = http->curl;
	CURLcode code = CURLE_OK;
	char range[32];

#define HTTP_SET(OPTION, VALUE) (code = code == CURLE_OK ? http->calls.curl_easy_setopt(curl, OPTION, VALUE) : code)
	http->calls.curl_easy_reset(curl);
	HTTP_SET(CURLOPT_URL, http->request->url);
	HTTP_SET(CURLOPT_PATH_AS_IS, 1l); /* '..' may be a part of a key */
	HTTP_SET(CURLOPT_PROTOCOLS_STR, "http,https");
	HTTP_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	HTTP_SET(CURLOPT_USERAGENT, "mkdatasetfs/" DATASETFS_RELEASE);
	HTTP_SET(CURLOPT_HTTPHEADER, headers);
	HTTP_SET(CURLOPT_NOSIGNAL, 1l);
	HTTP_SET(CURLOPT_TCP_KEEPALIVE, 1l);
	HTTP_SET(CURLOPT_BUFFERSIZE, HTTP_BUFFER);
	HTTP_SET(CURLOPT_CONNECTTIMEOUT, (long)http->timeout);
	HTTP_SET(CURLOPT_NOPROGRESS, 0l);
	HTTP_SET(CURLOPT_XFERINFOFUNCTION, http_watch);
	HTTP_SET(CURLOPT_XFERINFODATA, http);
	HTTP_SET(CURLOPT_WRITEFUNCTION, http_take);
	HTTP_SET(CURLOPT_WRITEDATA, http);
	HTTP_SET(CURLOPT_ERRORBUFFER, http->reason);
	if (http->request->from) {
		snprintf(range, sizeof(range), "%" PRIu64 "-", http->request->from);
		HTTP_SET(CURLOPT_RANGE, range);
	}
#undef HTTP_SET
	return code == CURLE_OK ? 0 : http_cannot_set(http, code, err);
}

/* Returns whether the request may succeed if it is repeated: not if the server was never reached, which is mostly a
 * mistyped URL, nor if its certificate is wrong. */
static bool http_may_repeat(struct http *http, CURLcode code)
{
	curl_off_t sent = 0;

	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_OUT_OF_MEMORY ||
	    code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
		return false;
	http->calls.curl_easy_getinfo(http->curl, CURLINFO_PRETRANSFER_TIME_T, &sent);
	return atomic_load(&http_is_reached) || sent > 0;
}

static int http_failed(struct http *http, CURLcode code, struct error *err)
{
	int r = http_may_repeat(http, code) ? -EAGAIN : -EIO;

	if (http->failed.code)
		return error_pass(err, http->failed.code, &http->failed);
	if (http->is_late)
		return error_set(err, r, "nothing came for %u second%s", http->timeout,
				 http->timeout == 1 ? "" : "s");
	return error_set(err, r, "%s", http->reason[0] ? http->reason : http->calls.curl_easy_strerror(code));
}

static int http_perform(struct http *http, struct error *err)
{
	curl_off_t wait = 0;
	CURLcode code = http->calls.curl_easy_perform(http->curl);

	if (code == CURLE_OK)
		http_note(http);
	if (!http->has_answer || (code != CURLE_OK && http_has_content(http)))
		return http_failed(http, code, err);
	http->calls.curl_easy_getinfo(http->curl, CURLINFO_RETRY_AFTER, &wait);
	http->answer.retry_after = wait > 0 ? (uint64_t)wait : 0;
	return http_keep_redirect(http, err);
}

static int http_add_header(struct http *http, struct curl_slist **headers, const char *line, struct error *err)
{
	struct curl_slist *longer = http->calls.curl_slist_append(*headers, line);

	if (!longer)
		return error_no_memory(err);
	*headers = longer;
	return 0;
}

static int http_list_headers(struct http *http, const struct http_request *request, struct curl_slist **ret,
			     struct error *err)
{
	const struct http_account *account = request->account;
	auto_free char *token = NULL;
	int r = *request->condition ? http_add_header(http, ret, request->condition, err) : 0;

	if (r < 0 || !account || !account->user)
		return r;
	r = http_add_header(http, ret, HTTP_NO_CONTENT, err);
	if (r < 0 || !account->token)
		return r;
	if (asprintf(&token, "x-amz-security-token: %s", account->token) < 0)
		return error_no_memory(err);
	return http_add_header(http, ret, token, err);
}

int http_get(struct http *http, const struct http_request *request, struct http_answer *ret, struct error *err)
{
	struct curl_slist *headers = NULL;
	int r = http_list_headers(http, request, &headers, err);

	if (r < 0)
		return r;
	http->request = request;
	http->answer = (struct http_answer){ 0 };
	http->has_answer = http->is_late = false;
	http->received = http->refusal = 0;
	http->failed = (struct error){ 0 };
	http->reason[0] = 0;
	http->heard = clock_now();
	r = http_prepare(http, headers, err);
	if (r == 0)
		r = http_set_certificates(http, err);
	if (r == 0)
		r = http_sign(http, request->account, err);
	if (r == 0)
		r = http_perform(http, err);
	http->calls.curl_slist_free_all(headers);
	if (r == 0)
		*ret = http->answer;
	return r;
}
