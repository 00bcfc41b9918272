/* SPDX-License-Identifier: MIT */
/* The answer to a client that wants a version: descriptors of its own, made for it. */
#pragma once
#include <stdint.h>

#include "handover/handover.h"
#include "serve/serve.h"

struct state;

struct answer {
	struct handover_opened message;
	int fds[HANDOVER_FDS]; /* enum handover_fd, and other members; of the first, fd_count */
	unsigned fd_count;
};

/* A member that does not answer now is left out where copies have all its bytes, so a client that has just begun does
 * not have to find out. device: of this mount. Nothing that is shared with others goes out but the state: whoever has a
 * descriptor may change its flags. */
must_check int answer_make(struct serve *serve, const struct state *state, uint64_t device,
			   const struct handover_open *wish, struct answer *ret, struct error *err);
void answer_close(struct answer *answer);
