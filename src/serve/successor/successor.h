/* SPDX-License-Identifier: MIT */
/* Leaves the mount to a successor: descriptors with the supervisor, and facts in the record. Without a supervisor only
 * the record is written. */
#pragma once
#include "serve/serve.h"

struct init;
struct mount;
struct rendezvous;

/* Makes the record, or opens the one of the former server and takes the mount's options from it. Call it before
 * anything else of the mount is made. */
must_check int successor_begin(struct serve *serve, struct error *err);
/* Keeps the mount and its members once everything is ready to serve: a successor takes over from then on. */
must_check int successor_mount(struct serve *serve, struct mount *mount, const struct init *init, struct error *err);
/* Keeps a version's descriptors, before it is put into the table. */
must_check int successor_version(struct serve *serve, const struct generation *generation, struct error *err);
void successor_drop_descriptors(struct serve *serve, uint64_t key);
/* Notes a version that enters the table, and drops one that has left it: generations.adding and generations.removed;
 * `owner` is the struct serve. */
must_check int successor_add_version(void *owner, const struct generation *generation, struct error *err);
void successor_remove_version(void *owner, const struct generation *generation);
/* Keeps a member whose descriptor refers to something else now. */
void successor_member(struct serve *serve, uint32_t slot);
/* Leaves the members of an assembly that has more of them than this mount to the next server, which is to take over
 * now: the descriptors and names of count members. Control thread only. */
must_check int successor_widen(struct serve *serve, const int *fds, char *const *names, uint32_t count,
			       struct error *err);
/* The supervisor has said that this server stays. Any thread may call it. */
void successor_narrow(struct serve *serve, const struct error *why);
/* The name of such a takeover, see struct keep_answer. */
#define SUCCESSOR_WIDER "wider"
/* Has a server of this program take over if a rehearsal succeeds, see keep_upgrade(). Control thread only. */
must_check int successor_replace(struct serve *serve, int program, const char *name, struct error *err);
/* Keeps the socket of programs that read past the mount; without one does nothing. */
void successor_clients(struct serve *serve, const struct rendezvous *place);
/* Notes the versions that are served and prepared: recovery_serve(). Control thread only, or before it runs. */
void successor_served(struct serve *serve);
/* The name of a copy of the record, which a rehearsal takes instead of the record. */
#define KEEPING_REHEARSAL "rehearsal"
/* Whether another server goes on when this one dies. */
bool successor_survives_server(const struct serve *serve);
/* Says how much outlives the server: "requests", "mount" or "nothing", see DSFS_CONTROL_SURVIVES. */
const char *successor_survives(const struct serve *serve);
/* The same in a sentence. */
const char *successor_promise(const struct serve *serve);
/* Drops descriptors that others wait to see closed: the members, then the socket on which umount(8) waits. Call it when
 * the mount has ended, before the server closes them itself. */
void successor_end(struct serve *serve);
void successor_free(struct serve *serve);
