/* SPDX-License-Identifier: MIT */
/* An array that is emptied as a whole, when all was sent. */
#include "supervisor/outbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/program/passing.h"

int outbox_add(struct outbox *outbox, enum supervisor_kind kind, uint32_t number, const char *name, int fd,
	       struct error *err)
{
	struct outbox_letter *letter;
	int r = grow(outbox->items, outbox->room, outbox->count + 1, err);

	if (r < 0)
		return r;
	letter = &outbox->items[outbox->count++];
	*letter = (struct outbox_letter){ { .kind = kind, .number = number }, fd, NULL };
	if (name)
		strncpy(letter->message.name, name, SUPERVISOR_NAME - 1);
	return 0;
}

int outbox_add_text(struct outbox *outbox, const char *text, struct error *err)
{
	outbox->items[outbox->count - 1].text = strdup(text);
	return outbox->items[outbox->count - 1].text ? 0 : error_no_memory(err);
}

bool outbox_is_empty(const struct outbox *outbox)
{
	return !outbox->count;
}

bool outbox_has(const struct outbox *outbox, enum supervisor_kind kind, uint32_t number)
{
	for (size_t i = outbox->sent; i < outbox->count; i++)
		if (outbox->items[i].message.kind == kind && outbox->items[i].message.number == number)
			return true;
	return false;
}

static int outbox_send_letter(const struct outbox_letter *letter, int socket, struct error *err)
{
	struct supervisor_packet packet = { .message = letter->message };
	size_t length = sizeof(packet.message);

	if (letter->text)
		length += (size_t)snprintf(packet.text, sizeof(packet.text), "%s", letter->text) + 1;
	if (length > sizeof(packet))
		length = sizeof(packet);
	return passing_send(socket, &packet, length, &letter->fd, letter->fd >= 0, err);
}

int outbox_send(struct outbox *outbox, int socket, struct error *err)
{
	int r = 0;

	for (; r == 0 && outbox->sent < outbox->count; outbox->sent += r == 0)
		r = outbox_send_letter(&outbox->items[outbox->sent], socket, err);
	outbox->is_crowded = r == -ETOOMANYREFS;
	if (r == -EAGAIN || outbox->is_crowded)
		return -EAGAIN;
	outbox_clear(outbox);
	return r;
}

void outbox_clear(struct outbox *outbox)
{
	for (size_t i = 0; i < outbox->count; i++)
		free(outbox->items[i].text);
	free(outbox->items);
	*outbox = (struct outbox){ 0 };
}
