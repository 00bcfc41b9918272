/* SPDX-License-Identifier: MIT */
/* The encoding of protocol buffers (https://protobuf.dev/programming-guides/encoding/): fields of a message one by one,
 * from bytes that anybody may have sent, and into a message. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

enum wire_kind { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
	uint32_t number;
	enum wire_kind kind;
	uint64_t value;    /* unless it is WIRE_BYTES */
	struct span bytes; /* of WIRE_BYTES, a part of the message */
};

/* Takes the next field off the message. Returns 1; 0 at its end; -EBADMSG. */
must_check int wire_next(struct span *message, struct wire_field *ret, struct error *err);
/* Copies a text, which the caller frees. -EBADMSG: it is no WIRE_BYTES, no UTF-8, has a NUL, or is longer than most. */
must_check int wire_text(const struct wire_field *field, size_t most, char **ret, struct error *err);

/* A message in the making; zeroed, it is empty. */
struct wire_message {
	uint8_t *bytes;
	size_t length, room;
	bool is_cut; /* there was no memory for a field */
};

void wire_put_number(struct wire_message *message, uint32_t number, uint64_t value);
void wire_put_text(struct wire_message *message, uint32_t number, const char *text);
void wire_put_message(struct wire_message *message, uint32_t number, const struct wire_message *inner);
void wire_free(struct wire_message *message); /* its contents only */

#define auto_wire cleanup(wire_free)
