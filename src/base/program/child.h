/* SPDX-License-Identifier: MIT */
/* Child processes for calls that may hang so that not even SIGKILL ends them, such as a read of a mount whose daemon
 * hangs: only the child hangs then, and its parent can end, close its files and free its port. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct child {
	pid_t process; /* 0: it has ended */
	int fd;        /* the parent's end of a pair of SOCK_SEQPACKET sockets; -1: closed */
	int status;    /* of waitpid(2), once it has ended by itself */
};

#define CHILD_NONE ((struct child){ .fd = -1 })

/* A function that the child runs, with its end of the sockets as fd. The child ends when it returns. */
typedef void child_body(const void *argument, int fd);

/* Starts a child that has no descriptor but fd, neither terminal nor output, and / as its directory. It gets SIGKILL
 * when its parent ends. Must be called while the process has one thread only. */
must_check int child_start(struct child *child, child_body *body, const void *argument, struct error *err);
/* Kills the child, waits until it has closed its files, but not beyond until (ns, monotonic; 0: does not wait), and
 * closes the parent's end. A child that hangs ends later. */
void child_kill(struct child *child, int64_t until);
/* Returns true once the process has ended, and lets the kernel forget it. Never waits. */
bool child_is_gone(struct child *child);
