/* SPDX-License-Identifier: MIT */
/* Messages between the supervisor and a server, which may be of another release: packets of a SOCK_SEQPACKET socket,
 * some with one descriptor. README.md has their order. Kinds keep their numbers, and unknown ones are ignored. */
#pragma once
#include <stdint.h>

#define SUPERVISOR_VARIABLE "DATASETFS_SUPERVISOR" /* of the environment: the number of the server's socket */
#define SUPERVISOR_LIFE     "life"                 /* the first descriptor that a server gets: a page, see server.h */
#define SUPERVISOR_NAME     32u                    /* bytes of a name, with its NUL */
#define SUPERVISOR_AGAIN    75                     /* exit status of a server that is to be started again */

enum supervisor_kind {
	/* from the server */
	SUPERVISOR_PUT = 1, /* keep this descriptor, instead of the one of this name */
	SUPERVISOR_DROP,    /* close the descriptor of this name */
	SUPERVISOR_READY,   /* it serves */
	SUPERVISOR_BEAT,    /* it still does */
	SUPERVISOR_END,     /* it is about to end, as the mount has: close all; answered by the end of the socket */
	SUPERVISOR_HEARD,   /* it has acted on the signal of this number */
	/* from the supervisor */
	SUPERVISOR_KEPT = 16, /* a descriptor that is kept */
	SUPERVISOR_BEGIN,     /* that was all; number: how many servers there were before */
	SUPERVISOR_SIGNAL,    /* the supervisor got this signal */
	SUPERVISOR_GONE,      /* this process, a server before, has ended, or all threads of it sleep that are left */
};

struct supervisor_message {
	uint32_t kind;
	uint32_t number;
	char name[SUPERVISOR_NAME]; /* of a descriptor */
};
