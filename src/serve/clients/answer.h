/* SPDX-License-Identifier: MIT */
/* The answer to a client that asks for a version: a message and descriptors. */
#pragma once
#include <stdint.h>

#include "client/client.h"
#include "serve/clients/credentials.h"
#include "serve/serve.h"

struct state;

struct answer {
	struct client_opened message;
	int fds[CLIENT_FDS]; /* in the order of enum client_fd, then further members */
	unsigned fd_count;
};

/* Makes the answer to a client. A member that does not answer now is left out if copies have all its bytes, so that a
 * new client need not find out by itself. device: device number of this mount. Every descriptor is opened for this
 * client alone, as the holder of an open file description may change its flags. */
must_check int answer_make(struct serve *serve, const struct state *state, uint64_t device,
			   const struct credentials *peer, const struct client_open *query, struct answer *ret,
			   struct error *err);
/* Opens the index and the record that another daemon asks for. -ENOENT: this one has not opened that version. Here and
 * below the caller closes the descriptors, also those that were opened before a failure. */
must_check int answer_lend(struct serve *serve, const struct client_borrow *query, int fds[CLIENT_LENT_FDS],
			   struct error *err);
/* Opens the mount's cache of the volume on this machine, for reading. -ENOENT: there is none. */
must_check int answer_cache(const struct serve *serve, const struct credentials *peer, int fds[CLIENT_CACHE_FDS],
			    struct error *err);
/* Closes the descriptors, once they are sent. */
void answer_close(struct answer *answer);
