/* SPDX-License-Identifier: MIT */
/* Looks at the volume's catalogue now and then: what became of the open versions, and for a mount that follows, which
 * version is current. For the control thread. */
#pragma once
#include <stdint.h>

#include "serve/serve.h"

struct follow {
	uint8_t acted[32];   /* SHA-256 of the catalogue that was acted upon: a sequence may be given twice */
	uint8_t pointed[16]; /* UUID of the version that was current in it */
};

/* From the version that is served. Returns when to look first. */
int64_t follow_begin(struct serve *serve, struct follow *follow);
/* Looks at the volume, and notes what became of the open versions (mounted_read()). A mount that follows switches when
 * the current version is another one or was moved. Returns when to look again, ns, monotonic. */
int64_t follow_look(struct serve *serve, struct follow *follow);
