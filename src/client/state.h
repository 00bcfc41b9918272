/* SPDX-License-Identifier: MIT */
/* A page that the daemon of a mount shares with its clients: which version the mount serves, and whether the daemon
 * lives. It is a memfd that only the daemon can write to, through the mapping that it made before sealing. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct state;

/* How much of the volume's devices the mount may use, all its readers together. */
struct state_terms {
	bool is_adaptive;         /* its reads wait for a window */
	uint64_t iops, bandwidth; /* reads and bytes a second; 0: no limit */
};

/* ---- functions for the daemon ---- */

must_check int state_new(const struct state_terms *terms, struct state **ret, struct error *err);
/* Marks the daemon as ended, and unmaps the page. NULL does nothing. */
void state_free(struct state *state);
/* Returns the descriptor to send to clients. The state keeps it. */
int state_fd(const struct state *state);
/* Makes the calling thread stand for the daemon: when the thread ends, for any reason, the kernel marks the daemon as
 * dead. */
void state_live(struct state *state);
/* Sets the key of the version in which clients look up names from now on. Any thread may call this, one at a time. */
void state_publish(struct state *state, uint64_t key);
/* Sets the number of processes that share the terms: the daemon and its clients. */
void state_divide(struct state *state, uint32_t sharers);
/* Counts that the volume was opened again; state_volume() returns the count. */
void state_renew(struct state *state);
uint64_t state_volume(const struct state *state);

/* ---- functions for clients ---- */

struct state_view;

/* Maps the page that a daemon's descriptor refers to. The caller keeps the descriptor. -EPROTO: it is not sealed as it
 * should be. */
must_check int state_view_open(int fd, const struct state_view **ret, struct error *err);
void state_view_close(const struct state_view *view);
/* Maps another daemon's page where the view's is, in one step for threads that look at it. On failure the view stays as
 * it is. */
must_check int state_view_replace(const struct state_view *view, int fd, struct error *err);
/* Returns the key of the version that the mount serves; 0: the daemon has ended. Costs two loads. */
uint64_t state_view_key(const struct state_view *view);
/* Returns the terms, which stay the same, and how many processes share them now. */
void state_view_terms(const struct state_view *view, struct state_terms *ret);
uint32_t state_view_sharers(const struct state_view *view);
/* Returns a count that changes when the daemon opens the volume again; clients should then ask for a new descriptor. */
uint64_t state_view_volume(const struct state_view *view);
