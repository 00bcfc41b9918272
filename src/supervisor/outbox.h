/* SPDX-License-Identifier: MIT */
/* Messages to a server that wait for room in its socket, in order. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "supervisor/message.h"

struct outbox_letter {
	struct supervisor_message message;
	int fd;     /* the caller's, open until it is sent; -1: none */
	char *text; /* NULL: none */
};

/* Zero is an empty one. */
struct outbox {
	struct outbox_letter *items;
	size_t sent, count, room;
	bool is_crowded; /* too many descriptors are on their way: poll(2) does not tell when to try again */
};

/* name may be NULL. */
must_check int outbox_add(struct outbox *outbox, enum supervisor_kind kind, uint32_t number, const char *name, int fd,
			  struct error *err);
/* Adds a text to the letter that was added last. */
must_check int outbox_add_text(struct outbox *outbox, const char *text, struct error *err);
bool outbox_is_empty(const struct outbox *outbox);
/* Whether a message of this kind and number waits. */
bool outbox_has(const struct outbox *outbox, enum supervisor_kind kind, uint32_t number);
/* Sends while there is room. -EAGAIN: some wait; another error: the socket is dead, and they are thrown away. */
must_check int outbox_send(struct outbox *outbox, int socket, struct error *err);
void outbox_clear(struct outbox *outbox);
