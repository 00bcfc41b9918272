/* SPDX-License-Identifier: MIT */
/* Lines of the files in which SSH keeps public keys: words with quotes, and a key as its kind and base64. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"
#include "trust/sshkey.h"

struct keyline {
	struct span rest; /* the part of the line that was not read yet */
	struct span kind; /* of the key */
	size_t length;
	uint8_t key[SSHKEY_MAX];
};

/* Takes the next line off a file that is neither empty nor a comment. False: there is none. number counts all lines. */
bool keyline_next(struct span *file, unsigned *number, struct keyline *ret);
/* Takes the next word off a line; quotes protect blanks and stay in the word. An empty span: the line is at its end. */
struct span keyline_word(struct keyline *line);
/* Reads the key whose kind is this word, and whose base64 is the next one. False: it is malformed. */
bool keyline_key(struct keyline *line, struct span kind);
/* Whether the key is this one. */
bool keyline_is(const struct keyline *line, struct span key);
