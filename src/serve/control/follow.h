/* SPDX-License-Identifier: MIT */
/* Checks the volume's catalogue periodically for the open versions and, for a mount with the option follow=, for the
 * current version. Control thread only, unless a function says otherwise. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/serve.h"

struct follow {
	uint8_t acted[32];   /* SHA-256 of the catalogue handled last; its sequence would not do, as it may be reused */
	uint8_t pointed[16]; /* UUID of the version that was current in that catalogue */
};

/* Whether a mount that follows does not serve the volume's current version. Copies why, or "", unless size is 0. Any
 * thread may call it. */
bool follow_fails(const struct serve *serve, char *text, size_t size);

/* Starts where the former server stopped, or from the assumption that the served version is the volume's current one.
 * Returns when to call follow_look() first, ns, monotonic. */
int64_t follow_begin(struct serve *serve, struct follow *follow);
/* Checks the catalogue and notes the fate of the open versions (mounted_read()). A mount that follows switches if
 * another version became current, or if its own was moved. Returns when to call it again, ns, monotonic. */
int64_t follow_look(struct serve *serve, struct follow *follow);
