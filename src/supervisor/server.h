/* SPDX-License-Identifier: MIT */
/* One server as its supervisor sees it: the process, the socket to it, and the page in which its death shows. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/thread/thread.h"
#include "base/thread/wake.h"
#include "supervisor/oom.h"
#include "supervisor/outbox.h"
#include "supervisor/page.h"

#define SERVER_NO_PROGRAM 127 /* exit status of a child that could not execute the program */

struct server_setup {
	int program; /* descriptor of the executable */
	char **argv;
	sigset_t signals;        /* that it blocks at its start */
	struct oom_score oom;    /* when memory runs out */
	const struct wake *wake; /* to wake when the server's first thread ends */
	bool dies_with_us;       /* the process is killed when this one ends */
};

struct server {
	pid_t process; /* 0: there is none */
	int socket;    /* -1: closed */
	int page_fd;   /* a memfd with the page; -1: without it, a death shows when the whole process has ended */
	struct supervisor_page *page;
	const struct wake *wake;
	struct thread waiter; /* for the end of the life */
	struct outbox outbox;
	int64_t ready; /* when it said that it serves, ns; 0: not yet */
	int64_t dead;  /* when its first thread was found to have ended, ns; 0: it has not */
	unsigned silent; /* periods in which it said nothing */
	bool begun;      /* all that is kept was sent to it */
	bool ends;       /* it said so */
};

/* Starts a process with a session of its own, so that signals of a terminal do not reach it. */
must_check int server_start(struct server *server, const struct server_setup *setup, struct error *err);
/* Lets go of a server that has ended, or whose first thread has; the process may go on. */
void server_bury(struct server *server);
/* Whether its first thread has ended, or it has said that it is about to crash. */
bool server_is_dead(const struct server *server);
/* Whether a killed one may wait for the answer to a request that no other server has. */
bool server_holds_requests(const struct server *server);
/* The number of the signal by which it said that it was about to die; 0: it did not. */
int server_crash(const struct server *server);
