/* SPDX-License-Identifier: MIT */
/* Makes messages, and checks received ones before anything else uses them. */
#include "client/client.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static_assert(sizeof(struct client_opened) <= CLIENT_MAX && sizeof(struct client_hits) <= CLIENT_MAX,
	      "no message is longer");

void client_begin(struct client_head *head, enum client_kind kind, size_t size)
{
	*head = (struct client_head){
		.magic = CLIENT_MAGIC,
		.protocol = CLIENT_PROTOCOL,
		.earliest = CLIENT_PROTOCOL,
		.kind = kind,
		.size = (uint32_t)size,
	};
}

void client_refuse(struct client_answer *answer, const struct error *why)
{
	answer->code = why->code;
	snprintf(answer->reason, sizeof(answer->reason), "%s", why->reason);
}

int client_check(const void *message, size_t length, enum client_kind kind, size_t size, struct error *err)
{
	struct client_head head;

	if (length < sizeof(head))
		return error_set(err, -EPROTO, "a message of %zu bytes, expected at least %zu", length, sizeof(head));
	memcpy(&head, message, sizeof(head));
	if (head.magic != CLIENT_MAGIC)
		return error_set(err, -EPROTO, "a message that begins with %#" PRIx32 ", expected %#x", head.magic,
				 CLIENT_MAGIC);
	if (head.earliest > CLIENT_PROTOCOL || head.protocol < CLIENT_PROTOCOL)
		return error_set(err, -EPROTONOSUPPORT,
				 "the other side speaks protocols %u to %u, this release speaks %u", head.earliest,
				 head.protocol, CLIENT_PROTOCOL);
	if (head.kind != kind)
		return error_set(err, -EPROTO, "a message of kind %" PRIu32 ", expected %d", head.kind, (int)kind);
	if (head.size != length || length < size)
		return error_set(err, -EPROTO,
				 "a message of %zu bytes that says it has %" PRIu32 ", expected at least %zu", length,
				 head.size, size);
	return 0;
}

/* Keeps a received reason on one line. */
static void client_clean(char reason[CLIENT_REASON])
{
	reason[CLIENT_REASON - 1] = 0;
	for (char *at = reason; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
}

int client_check_answer(const void *message, size_t length, enum client_kind kind, size_t size, struct error *err)
{
	struct client_answer answer;
	int r = client_check(message, length, kind, sizeof(answer), err);

	if (r < 0)
		return r;
	memcpy(&answer, message, sizeof(answer));
	client_clean(answer.reason);
	if (answer.code < -4095 || answer.code > 0)
		return error_set(err, -EPROTO, "an answer with code %" PRId32 ", which is no errno", answer.code);
	if (answer.code < 0)
		return error_set(err, answer.code, "%s", answer.reason);
	return client_check(message, length, kind, size, err);
}
