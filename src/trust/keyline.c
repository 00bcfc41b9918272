/* SPDX-License-Identifier: MIT */
/* Takes lines apart. */
#include "trust/keyline.h"

#include <string.h>

#include "base/text/base64.h"

static bool keyline_is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void keyline_skip_blanks(struct span *text)
{
	while (text->size && keyline_is_blank(*text->base))
		*text = span_of(text->base + 1, text->size - 1);
}

static struct span keyline_cut(struct span *text, uint64_t length)
{
	struct span cut = span_of(text->base, length);

	*text = span_of(text->base + length, text->size - length);
	return cut;
}

bool keyline_next(struct span *file, unsigned *number, struct keyline *ret)
{
	while (file->size) {
		const uint8_t *end = memchr(file->base, '\n', file->size);

		ret->rest = keyline_cut(file, end ? (uint64_t)(end - file->base) : file->size);
		if (end)
			(void)keyline_cut(file, 1);
		++*number;
		keyline_skip_blanks(&ret->rest);
		if (ret->rest.size && *ret->rest.base != '#')
			return true;
	}
	return false;
}

struct span keyline_word(struct keyline *line)
{
	bool quoted = false;
	uint64_t length;

	keyline_skip_blanks(&line->rest);
	for (length = 0; length < line->rest.size; length++) {
		uint8_t c = line->rest.base[length];

		if (c == '"')
			quoted = !quoted;
		else if (!quoted && keyline_is_blank(c))
			break;
	}
	return keyline_cut(&line->rest, length);
}

bool keyline_key(struct keyline *line, struct span kind)
{
	struct span text = keyline_word(line), own;

	if (!kind.size || !text.size || !base64_decode(text, line->key, sizeof(line->key), &line->length))
		return false;
	line->kind = kind;
	own = sshkey_kind(span_of(line->key, line->length));
	return own.size == kind.size && !memcmp(own.base, kind.base, kind.size);
}

bool keyline_is(const struct keyline *line, struct span key)
{
	return line->length == key.size && !memcmp(line->key, key.base, key.size);
}
