/* SPDX-License-Identifier: MIT */
/* The replacement of the program. First a rehearsal: beside the server, a process of the new program prepares to serve
 * like a successor, with a copy of the record and descriptors of its own, and ends. If it succeeds, the server stops,
 * and one of the new program takes over as after a crash. If that one does not come up, the old program goes on. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "supervisor/fdstore.h"
#include "supervisor/message.h"
#include "supervisor/server.h"

enum upgrade_phase {
	UPGRADE_NONE,
	UPGRADE_TRIES,    /* the rehearsal is under way */
	UPGRADE_PREPARED, /* it succeeded: the server gets STOP next */
	UPGRADE_STOPS,    /* it has got STOP */
	UPGRADE_STARTS,   /* a server of the new program comes up */
	UPGRADE_FAILED,   /* the old one goes on: a server gets the reason next */
};

/* Zero but program, trial.socket and trial.page, which are -1: none has begun. */
struct upgrade {
	enum upgrade_phase phase;
	int program; /* the new one; in UPGRADE_STARTS the old one; -1: none */
	struct server trial;
	struct fdstore kept; /* the rehearsal's */
	int64_t until;       /* ns, when the rehearsal, or a server that stops, is killed */
	char name[SUPERVISOR_NAME]; /* of the request */
	struct error why;
};

/* Begins a rehearsal for a request of the server. Takes program. number: how many servers there were. patience: for the
 * rehearsal, ms. -EBUSY: there is one. After another error it has failed. */
must_check int upgrade_begin(struct upgrade *upgrade, const struct supervisor_message *request, int program,
			     const struct server_setup *servers, const struct fdstore *kept, uint32_t number,
			     int patience, struct error *err);
/* Sends to the rehearsal, receives from it, and kills one that takes too long. */
void upgrade_look(struct upgrade *upgrade);
/* Notes that a child has ended. False: it is not the rehearsal's. */
bool upgrade_reap(struct upgrade *upgrade, pid_t process, int status);
/* Ends a rehearsal, as its server has ended or the mount does. Its process may last a moment longer. */
void upgrade_cancel(struct upgrade *upgrade);
bool upgrade_has_process(const struct upgrade *upgrade);

/* Notes that the server has got STOP, and has these ns. */
void upgrade_stops(struct upgrade *upgrade, int64_t time);
/* Notes the end of a server that is replaced. *program: of the next one, which may be another from now on. */
void upgrade_lose(struct upgrade *upgrade, int status, int *program);
/* Notes that a server serves. True: it is the first of the new program. */
bool upgrade_ready(struct upgrade *upgrade);
/* Adds the result of the upgrade to the messages for a server, if there is one. is_next: the server gets it at its
 * beginning, and it stays pending until the server serves. */
must_check int upgrade_tell(struct upgrade *upgrade, struct outbox *outbox, bool is_next, struct error *err);
void upgrade_close(struct upgrade *upgrade);
