/* SPDX-License-Identifier: MIT */
/* The messages between the supervisor and a server, which may be of another release: packets of a SOCK_SEQPACKET
 * socket, some with one descriptor, some with a text. README.md has their order. Kinds keep their numbers, and unknown
 * ones are ignored. */
#pragma once
#include <stdint.h>

#define SUPERVISOR_VARIABLE "DATASETFS_SUPERVISOR" /* of the environment: the number of the server's socket */
#define SUPERVISOR_LIFE     "life"                 /* the first descriptor that a server gets: a page, see server.h */
#define SUPERVISOR_NAME     32u                    /* bytes of a name, with its NUL */
#define SUPERVISOR_TEXT     504u                   /* bytes of a text, with its NUL */
#define SUPERVISOR_AGAIN    75                     /* exit status of a server that must be started again */

enum supervisor_kind {
	/* from the server */
	SUPERVISOR_PUT = 1, /* keep this descriptor, instead of the one of this name */
	SUPERVISOR_DROP,    /* close the descriptor of this name */
	SUPERVISOR_READY,   /* it serves */
	SUPERVISOR_BEAT,    /* it still does */
	SUPERVISOR_END,     /* it is about to end, as the mount has: close all; answered by the end of the socket */
	SUPERVISOR_HEARD,   /* it has acted on the signal of this number */
	SUPERVISOR_UPGRADE, /* this descriptor is the program to go on with; name: of the request */
	/* from a rehearsal */
	SUPERVISOR_PREPARED, /* it could take over */
	SUPERVISOR_REFUSED,  /* it could not; number: errno; text: why */
	/* from the supervisor */
	SUPERVISOR_KEPT = 16, /* a descriptor that is kept */
	SUPERVISOR_BEGIN,     /* that was all; number: how many servers there were before */
	SUPERVISOR_SIGNAL,    /* the supervisor got this signal */
	SUPERVISOR_GONE,      /* this process, a server before, has ended, or all threads of it sleep that are left */
	SUPERVISOR_UPGRADED,  /* an upgrade has ended, of this name; number: 0 or errno; text: why; or before BEGIN */
	SUPERVISOR_TRY,       /* before BEGIN: this is a rehearsal, beside a server that goes on */
	SUPERVISOR_STOP,      /* another program is ready: answer the open requests and exit with SUPERVISOR_AGAIN */
};

struct supervisor_message {
	uint32_t kind;
	uint32_t number;
	char name[SUPERVISOR_NAME]; /* of a descriptor, or a request */
};

/* A message with a text, which is sent up to its NUL. */
struct supervisor_packet {
	struct supervisor_message message;
	char text[SUPERVISOR_TEXT];
};
