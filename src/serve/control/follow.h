/* SPDX-License-Identifier: MIT */
/* A mount that follows the volume's current version. For the control thread. */
#pragma once
#include <stdint.h>

#include "serve/serve.h"

struct follow {
	uint8_t acted[32];   /* SHA-256 of the catalogue that was acted upon: a sequence may be given twice */
	uint8_t pointed[16]; /* UUID of the version that was current in it */
};

/* From the version that is served. */
void follow_begin(struct serve *serve, struct follow *follow);
/* Looks at the volume, and switches when its current version is another one or was moved. */
void follow_look(struct serve *serve, struct follow *follow);
