/* SPDX-License-Identifier: MIT */
/* A page that the daemon of a mount shares with its clients: which version the mount serves, and whether the daemon
 * lives. It lies in a memfd that only the daemon can write to, by the mapping that it made first. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct state;

/* ---- the daemon's ---- */

must_check int state_new(struct state **ret, struct error *err);
/* Says that the daemon ended, and unmaps it. NULL as well. */
void state_free(struct state *state);
/* What clients get, to be sent; it stays the state's. */
int state_fd(const struct state *state);
/* From here to its end, whatever ends it, the calling thread stands for the daemon: the kernel then says so. */
void state_live(struct state *state);
/* The version that names are looked up in from now on. Any thread, one at a time. */
void state_publish(struct state *state, uint64_t key);
/* The volume was opened again; how often. */
void state_renew(struct state *state);
uint64_t state_volume(const struct state *state);

/* ---- the client's ---- */

struct state_view;

/* Maps what a daemon sent; fd stays the caller's. -EPROTO when it is not sealed as it should be. */
must_check int state_view_open(int fd, const struct state_view **ret, struct error *err);
void state_view_close(const struct state_view *view);
/* The key of the version that the mount serves; 0: the daemon has ended. Costs two loads. */
uint64_t state_view_key(const struct state_view *view);
/* Other than before: the volume was opened again, and who has a descriptor of it better asks for another. */
uint64_t state_view_volume(const struct state_view *view);
