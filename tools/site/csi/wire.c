/* SPDX-License-Identifier: MIT */
/* Reads no byte but through span_at(). */
#include "csi/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/utf8.h"

#define WIRE_VARINT_BYTES 10u

/* ---- reading ---- */

static const uint8_t *wire_take(struct span *message, uint64_t length)
{
	const uint8_t *bytes = span_at(*message, 0, length);

	if (bytes)
		*message = span_of(bytes + length, message->size - length);
	return bytes;
}

static int wire_varint(struct span *message, uint64_t *ret, struct error *err)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < WIRE_VARINT_BYTES; i++) {
		const uint8_t *byte = wire_take(message, 1);

		if (!byte)
			return error_set(err, -EBADMSG, "the message ends within a number");
		if (i == WIRE_VARINT_BYTES - 1 && *byte > 1)
			break;
		value |= (uint64_t)(*byte & 0x7f) << (7 * i);
		if (*byte < 0x80) {
			*ret = value;
			return 0;
		}
	}
	return error_set(err, -EBADMSG, "a number of the message has more than 64 bits");
}

static int wire_bytes(struct span *message, struct wire_field *field, struct error *err)
{
	uint64_t length;
	int r = wire_varint(message, &length, err);
	const uint8_t *bytes;

	if (r < 0)
		return r;
	bytes = wire_take(message, length);
	if (!bytes)
		return error_set(err, -EBADMSG, "field %u of the message goes beyond its end", field->number);
	field->bytes = span_of(bytes, length);
	return 0;
}

static int wire_fixed(struct span *message, unsigned size, struct wire_field *field, struct error *err)
{
	const uint8_t *bytes = wire_take(message, size);

	if (!bytes)
		return error_set(err, -EBADMSG, "field %u of the message goes beyond its end", field->number);
	for (unsigned i = 0; i < size; i++)
		field->value |= (uint64_t)bytes[i] << (8 * i);
	return 0;
}

static int wire_value(struct span *message, struct wire_field *field, struct error *err)
{
	switch (field->kind) {
	case WIRE_VARINT:
		return wire_varint(message, &field->value, err);
	case WIRE_FIXED64:
		return wire_fixed(message, 8, field, err);
	case WIRE_FIXED32:
		return wire_fixed(message, 4, field, err);
	case WIRE_BYTES:
		return wire_bytes(message, field, err);
	}
	return error_set(err, -EBADMSG, "field %u of the message is of the unused kind %u", field->number,
			 (unsigned)field->kind);
}

int wire_next(struct span *message, struct wire_field *ret, struct error *err)
{
	struct wire_field field = { 0 };
	struct span rest = *message;
	uint64_t tag = 0; /* gcc does not see that wire_varint() sets it */
	int r;

	if (!rest.size)
		return 0;
	r = wire_varint(&rest, &tag, err);
	if (r < 0)
		return r;
	if (tag < 8 || tag > UINT32_MAX)
		return error_set(err, -EBADMSG, "a field of the message has no valid number");
	field.number = (uint32_t)tag >> 3;
	field.kind = (enum wire_kind)(tag & 7);
	r = wire_value(&rest, &field, err);
	if (r < 0)
		return r;
	*message = rest;
	*ret = field;
	return 1;
}

static bool wire_is_text(struct span bytes)
{
	uint64_t at = 0;
	uint32_t character;
	size_t length;

	for (; at < bytes.size; at += length) {
		length = utf8_decode(bytes.base + at, bytes.size - at, &character);
		if (!length || !character)
			return false;
	}
	return true;
}

int wire_text(const struct wire_field *field, size_t most, char **ret, struct error *err)
{
	if (field->kind != WIRE_BYTES || !wire_is_text(field->bytes))
		return error_set(err, -EBADMSG, "field %u of the message is no text", field->number);
	if (field->bytes.size > most)
		return error_set(err, -EBADMSG, "field %u of the message has more than %zu bytes", field->number, most);
	*ret = strndup((const char *)field->bytes.base, field->bytes.size);
	return *ret ? 0 : error_no_memory(err);
}

/* ---- writing ---- */

static void wire_put(struct wire_message *message, const void *bytes, size_t length)
{
	if (message->is_cut || grow(message->bytes, message->room, message->length + length, NULL) < 0) {
		message->is_cut = true;
		return;
	}
	if (length)
		memcpy(message->bytes + message->length, bytes, length);
	message->length += length;
}

static void wire_put_varint(struct wire_message *message, uint64_t value)
{
	uint8_t bytes[WIRE_VARINT_BYTES];
	size_t length = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[length++] = (uint8_t)(value | 0x80);
	bytes[length++] = (uint8_t)value;
	wire_put(message, bytes, length);
}

static void wire_put_bytes(struct wire_message *message, uint32_t number, const void *bytes, size_t length)
{
	wire_put_varint(message, (uint64_t)number << 3 | WIRE_BYTES);
	wire_put_varint(message, length);
	wire_put(message, bytes, length);
}

void wire_put_number(struct wire_message *message, uint32_t number, uint64_t value)
{
	wire_put_varint(message, (uint64_t)number << 3 | WIRE_VARINT);
	wire_put_varint(message, value);
}

void wire_put_text(struct wire_message *message, uint32_t number, const char *text)
{
	wire_put_bytes(message, number, text, strlen(text));
}

void wire_put_message(struct wire_message *message, uint32_t number, const struct wire_message *inner)
{
	message->is_cut |= inner->is_cut;
	wire_put_bytes(message, number, inner->bytes, inner->length);
}

void wire_free(struct wire_message *message)
{
	free(message->bytes);
	*message = (struct wire_message){ 0 };
}
