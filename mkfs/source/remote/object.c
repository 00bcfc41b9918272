/* SPDX-License-Identifier: MIT */
/* Follows redirects, repeats requests that failed, and goes on after the last byte that came, if the object is still
 * the same. */
#include "source/remote/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "source/remote/http.h"
#include "source/remote/url.h"

#define OBJECT_REDIRECTS  10u
#define OBJECT_WAIT       INT64_C(100000000)   /* ns before the first repetition; doubled for each that follows */
#define OBJECT_WAIT_MAX   INT64_C(20000000000)
#define OBJECT_WAIT_ASKED 300u                 /* seconds that a server may ask for */
#define OBJECT_DOUBLINGS  8u

struct object {
	const struct object_setup *setup;
	struct http *http;
	uint64_t done;  /* bytes that were handed over */
	uint64_t total; /* HTTP_UNKNOWN until an answer says it */
	char condition[HTTP_TEXT + 32]; /* header that holds as long as the object is the same; "": there is none */
	bool is_checked;     /* the answer at hand was */
	uint64_t end;        /* that of its content, or HTTP_UNKNOWN */
	uint64_t skip;       /* bytes of the answer that were handed over before */
	unsigned failures;   /* in a row */
	uint64_t wait_asked; /* seconds that the server has asked to wait */
	bool has_warned, has_warned_open;
};

/* --- the content --- */

static int object_changed(struct error *err)
{
	return error_set(err, -ESTALE, "it has changed while it was read");
}

/* Formats the header by which a server refuses to go on with another object. A weak ETag is no promise about bytes. */
static void object_set_condition(const struct http_answer *answer, char condition[HTTP_TEXT + 32])
{
	condition[0] = 0;
	if (answer->etag[0] == '"')
		snprintf(condition, HTTP_TEXT + 32, "If-Match: %s", answer->etag);
	else if (answer->modified[0])
		snprintf(condition, HTTP_TEXT + 32, "If-Unmodified-Since: %s", answer->modified);
}

/* Compares what an answer says of the object with what the first one said, as not every server knows conditions. */
static int object_compare(struct object *object, const struct http_answer *answer, struct error *err)
{
	char condition[HTTP_TEXT + 32];

	object_set_condition(answer, condition);
	if (!object->done)
		object->total = answer->total;
	if (!object->done && !object->setup->etag) {
		memcpy(object->condition, condition, sizeof(condition));
		return 0;
	}
	if (strcmp(condition, object->condition) != 0)
		return object_changed(err);
	if (object->total == HTTP_UNKNOWN)
		object->total = answer->total;
	return object->total >= object->done && (answer->total == HTTP_UNKNOWN || answer->total == object->total) ? 0 :
	       object_changed(err);
}

/* Says that the end of the content cannot be checked. */
static void object_warn_open(struct object *object)
{
	char line[URL_SHOWN + 160];

	if (object->has_warned_open)
		return;
	object->has_warned_open = true;
	snprintf(line, sizeof(line), "'%.200s': the server does not say how long it is, and it looks complete if the "
		 "connection breaks: use --require-end for a tar archive", object->setup->name);
	object->setup->warn(object->setup->warn_argument, line);
}

/* Checks an answer with content before any byte of it is used. A server that knows no ranges begins with the first
 * byte again. */
static int object_check(struct object *object, const struct http_answer *answer, struct error *err)
{
	int r = object_compare(object, answer, err);

	if (r < 0)
		return r;
	if (answer->first && answer->first != object->done)
		return error_set(err, -EPROTO, "the server sends other bytes than those from %" PRIu64 " on",
				 object->done);
	if (answer->status == 206 && (answer->end <= answer->first || answer->end > object->total))
		return error_set(err, -EPROTO, "the server sends the bytes %" PRIu64 " to %" PRIu64 ", expected those "
				 "from %" PRIu64 " to the end, which is at %" PRIu64, answer->first, answer->end - 1,
				 object->done, object->total);
	if (answer->is_open && answer->end == HTTP_UNKNOWN && !object->setup->restart)
		object_warn_open(object);
	object->skip = object->done - answer->first;
	object->end = answer->end;
	object->is_checked = true;
	return 0;
}

static int object_take(void *argument, const struct http_answer *answer, const void *bytes, size_t length,
		       struct error *err)
{
	struct object *object = argument;
	const struct object_setup *setup = object->setup;
	size_t known;
	int r = object->is_checked ? 0 : object_check(object, answer, err);

	if (r < 0)
		return r;
	known = length < object->skip ? length : (size_t)object->skip;
	object->skip -= known;
	length -= known;
	if (length > object->end - object->done)
		return error_set(err, -EPROTO, "the server sends more than the %" PRIu64 " bytes that it announced",
				 object->end);
	r = length ? setup->sink(setup->argument, (const char *)bytes + known, length, err) : 0;
	if (r == 0)
		object->done += length;
	return r;
}

/* --- a request --- */

/* Checks where a redirect leads to. is_encrypted: that of the URL which it takes the place of. */
static int object_check_redirect(bool is_encrypted, const char *to, struct error *err)
{
	char text[URL_SHOWN];

	if (!to || !url_is_fetched(to))
		return error_set(err, -EPROTO, "the server redirects to '%.100s', expected https:// or http://",
				 url_shown(to ? to : "", text));
	if (is_encrypted && !url_is_encrypted(to))
		return error_set(err, -EPROTO, "the server redirects to '%.100s', which is not encrypted",
				 url_shown(to, text));
	return url_check(to, err);
}

/* Checks whether an object store sends to another region than the request was made for. */
static int object_check_region(const struct object *object, const struct http_answer *answer, struct error *err)
{
	const struct http_account *account = object->setup->account;

	if (!account || answer->status < 300 || !answer->region[0] || !strcmp(answer->region, account->region))
		return 0;
	return error_set(err, -EREMOTE, "the bucket is in region '%s', not in '%s': use --region", answer->region,
			 account->region);
}

/* Makes a request, and those that redirects ask for. */
static int object_follow(struct object *object, struct http_answer *ret, struct error *err)
{
	struct http_request request = { .url = object->setup->url, .from = object->done,
					.condition = object->done || object->setup->etag ? object->condition : "",
					.account = object->setup->account, .sink = object_take, .argument = object };
	bool is_encrypted;
	int r;

	object->is_checked = false;
	for (unsigned hops = 0; hops <= OBJECT_REDIRECTS; hops++) {
		is_encrypted = url_is_encrypted(request.url);
		r = http_get(object->http, &request, ret, err);
		if (r == 0)
			r = object_check_region(object, ret, err);
		if (r < 0 || ret->status < 300 || ret->status >= 400)
			return r;
		if (request.account && request.account->user)
			return error_set(err, -EPROTO, "the server redirects, and a request that is signed does not "
					 "follow: use --region or --endpoint");
		r = object_check_redirect(is_encrypted, ret->redirect, err);
		if (r < 0)
			return r;
		request.url = ret->redirect;
	}
	return error_set(err, -ELOOP, "the server redirects more than %u times", OBJECT_REDIRECTS);
}

static const char *object_status(unsigned status)
{
	switch (status) {
	case 401: return " (Unauthorized)";
	case 403: return " (Forbidden)";
	case 404: return " (Not Found)";
	case 429: return " (Too Many Requests)";
	case 503: return " (Service Unavailable)";
	default: return "";
	}
}

/* Says why an object store may have refused, as it may not tell an object that is missing from one that is private. */
static const char *object_hint(const struct object *object, unsigned status)
{
	const struct http_account *account = object->setup->account;

	return account && !account->user && (status == 401 || status == 403) ? ", and no keys for it were found" : "";
}

/* Returns whether the answer says that all bytes had come before: none follow those of the object that was begun. */
static bool object_has_ended(const struct object *object, const struct http_answer *answer)
{
	char condition[HTTP_TEXT + 32];

	object_set_condition(answer, condition);
	return answer->total == object->done && (!condition[0] || !strcmp(condition, object->condition)) &&
	       (object->total == HTTP_UNKNOWN || object->total == object->done);
}

/* Decides what an answer means. */
static int object_judge(struct object *object, const struct http_answer *answer, struct error *err)
{
	unsigned status = answer->status;
	bool may_repeat = status == 408 || status == 429 || status >= 500;

	if (status == 416 && object->done && object_has_ended(object, answer))
		return 0;
	if ((status == 412 && (object->done || object->setup->etag)) || (status == 416 && object->done))
		return object_changed(err);
	if (status != 200 && status != 206)
		return error_set(err, may_repeat ? -EAGAIN : -EIO, "the server answers with status %u%s%s", status,
				 object_status(status), object_hint(object, status));
	if (!object->is_checked)
		return object_check(object, answer, err);
	return 0;
}

static bool object_is_complete(const struct object *object)
{
	return object->total != HTTP_UNKNOWN && object->done == object->total;
}

/* Reads the rest of the object, or a part of it. -EAGAIN: another attempt may get more. */
static int object_try(struct object *object, struct error *err)
{
	struct http_answer answer = { 0 };
	uint64_t end;
	int r = object_follow(object, &answer, err);

	if (r == 0)
		r = object_judge(object, &answer, err);
	object->wait_asked = answer.retry_after < OBJECT_WAIT_ASKED ? answer.retry_after : OBJECT_WAIT_ASKED;
	if (r == -EAGAIN && object_is_complete(object))
		return 0;
	if (r < 0 || answer.status == 416)
		return r;
	if (object->skip)
		return error_set(err, -EAGAIN, "the server sends fewer bytes than it sent before");
	end = object->total == HTTP_UNKNOWN ? object->end : object->total;
	if (end != HTTP_UNKNOWN && object->done < end)
		return error_set(err, -EAGAIN, "%" PRIu64 " of %" PRIu64 " bytes came", object->done, end);
	return 0;
}

/* --- repetitions --- */

/* Waits before a repetition, longer each time, and not all processes that failed together equally long. */
static void object_wait(const struct object *object)
{
	unsigned doublings = object->failures - 1 < OBJECT_DOUBLINGS ? object->failures - 1 : OBJECT_DOUBLINGS;
	int64_t wait = OBJECT_WAIT << doublings, asked = (int64_t)object->wait_asked * 1000000000;
	uint32_t chance = 0;

	if (getrandom(&chance, sizeof(chance), 0) < 0)
		chance = 0;
	wait = wait < OBJECT_WAIT_MAX ? wait : OBJECT_WAIT_MAX;
	wait -= wait / 2 * (chance % 1024) / 1024;
	clock_sleep(wait > asked ? wait : asked);
}

static void object_warn(struct object *object, const struct error *why)
{
	char line[URL_SHOWN + sizeof(why->reason) + 64];

	if (object->has_warned)
		return;
	object->has_warned = true;
	snprintf(line, sizeof(line), "'%.200s': %s, at byte %" PRIu64 ": trying again", object->setup->name,
		 why->reason, object->done);
	object->setup->warn(object->setup->warn_argument, line);
}

/* Prepares another attempt, unless it would be one too many, or the rest might belong to another object. */
static int object_repeat(struct object *object, uint64_t before, const struct error *why, struct error *err)
{
	object->failures = object->done > before && !object->setup->restart ? 1 : object->failures + 1;
	if (object->failures > object->setup->retries)
		return error_set(err, -EIO, "%s, at byte %" PRIu64 " (%u attempt%s)", why->reason, object->done,
				 object->failures, object->failures == 1 ? "" : "s");
	if (object->setup->restart) {
		object->setup->restart(object->setup->argument);
		object->done = 0;
	}
	if (object->done && !object->condition[0])
		return error_set(err, -EIO, "%s, at byte %" PRIu64 ", and the server gives neither ETag nor "
				 "Last-Modified, by which the rest could be told from that of another object",
				 why->reason, object->done);
	object_warn(object, why);
	object_wait(object);
	return 0;
}

int object_read(struct http *http, const struct object_setup *setup, struct error *err)
{
	struct object object = { .setup = setup, .http = http, .total = HTTP_UNKNOWN };
	uint64_t before;
	int r, attempt;

	if (setup->etag)
		snprintf(object.condition, sizeof(object.condition), "If-Match: %s", setup->etag);
	do {
		struct error why = { 0 };

		before = object.done;
		attempt = object_try(&object, &why);
		r = attempt == -EAGAIN ? object_repeat(&object, before, &why, err) : error_pass(err, attempt, &why);
	} while (r == 0 && attempt == -EAGAIN);
	return r < 0 ? error_wrap(err, r, "cannot read '%.200s'", setup->name) : 0;
}
