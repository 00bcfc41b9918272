/* SPDX-License-Identifier: MIT */
/* The server's side of its supervisor: descriptors that it keeps for the next server, and word of signals. Without a
 * supervisor the struct is NULL, and the functions succeed and do nothing. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct keep;

enum keep_kind {
	KEEP_NOTHING,
	KEEP_SIGNAL, /* number: of the signal that the supervisor got */
	KEEP_GONE,   /* number: no thread of this earlier server takes requests any more; may come again */
	KEEP_UPGRADED, /* an upgrade has ended: keep_upgraded() */
	KEEP_STOP,   /* another program is to go on: answer the open requests, and exit with SUPERVISOR_AGAIN */
	KEEP_LOST,   /* once: the supervisor has ended, and would not replace this server */
};

struct keep_event {
	enum keep_kind kind;
	uint32_t number;
};

/* Waits for all that the supervisor keeps. *ret is NULL if there is none. The calling thread stands for the server from
 * now on: when it ends without keep_end(), the next server begins. */
must_check int keep_open(struct keep **ret, struct error *err);
/* Tells the supervisor that the mount has ended, and waits until it has closed its descriptors (1 s at most). To end
 * without it means to be replaced. */
void keep_end(struct keep *keep);
void keep_close(struct keep *keep); /* the same, and frees the struct, which no thread may use any more */

/* Whether there was a server before. */
bool keep_is_successor(const struct keep *keep);
/* How many servers there were before. */
uint32_t keep_restarts(const struct keep *keep);
/* Whether this process is a rehearsal, beside a server that goes on: see upgrade.h. It must change nothing that others
 * see, and end with keep_prepared() or keep_refuse(). */
bool keep_is_rehearsal(const struct keep *keep);
/* Where the server counts its threads that are in a call which may wait for a request's answer, and so may never end
 * when the server is killed. NULL: the supervisor does not look. It stays until the process ends. */
_Atomic uint32_t *keep_notices(const struct keep *keep);
pid_t keep_supervisor(const struct keep *keep); /* 0: none */

/* Takes a descriptor that a server of before has put; the supervisor still keeps it as well. -1: there is none of this
 * name, or it was taken. By the thread that called keep_open(). */
int keep_take(struct keep *keep, const char *fmt, ...) printf_like(2, 3);
/* Has the supervisor keep fd too, instead of the one that had this name. Any thread may call it, and keep_drop(). Waits
 * for at most 1 s until the socket has room: -EAGAIN. */
must_check int keep_put(struct keep *keep, int fd, struct error *err, const char *fmt, ...) printf_like(4, 5);
void keep_drop(struct keep *keep, const char *fmt, ...) printf_like(2, 3);
/* Whether there are names that begin so, that were kept when this server began, and that it has not taken. */
bool keep_has_left(const struct keep *keep, const char *prefix);
/* Drops descriptors with this prefix that were kept when this server began and that it has not taken. */
void keep_drop_left(struct keep *keep, const char *prefix);

/* Says that the server serves, and from then on every KEEP_BEAT seconds that it still does: see supervisor.h. */
#define KEEP_BEAT 5
void keep_ready(struct keep *keep);
void keep_beat(struct keep *keep);
/* Tells that the process is about to die by this signal, which makes a core file by default. Async-signal-safe. */
void keep_crash(int signal);

/* Asks for an upgrade to this program; name: of the request, to tell it by. KEEP_UPGRADED follows, in this server or in
 * the next one. */
must_check int keep_upgrade(struct keep *keep, int program, const char *name, struct error *err);
struct keep_answer {
	char name[32]; /* of the request */
	struct error why; /* code 0: this server is of the new program */
};
/* The end of an upgrade that the supervisor told of last; NULL: of none. Only for the thread that calls keep_next(),
 * which may change it. */
const struct keep_answer *keep_upgraded(const struct keep *keep);
/* Says that this rehearsal could take over, or why it could not. */
void keep_prepared(struct keep *keep);
void keep_refuse(struct keep *keep, const struct error *err);

/* To be polled: readable when keep_next() has something. -1: no supervisor, or it has ended. */
int keep_fd(const struct keep *keep);
struct keep_event keep_next(struct keep *keep);
/* Says that the server has acted on a signal. Until then the next server would get it, if this one dies. */
void keep_heard(struct keep *keep, uint32_t signal);
