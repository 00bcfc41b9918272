/* SPDX-License-Identifier: MIT */
/* Waits for descriptors of any kind, and calls who watches the one that is ready. */
#pragma once
#include <stdint.h>
#include <sys/epoll.h>

#include "base/error.h"

/* Stays where it is while it is watched. The handler may end any watch, its own as well. */
struct loop_watch {
	int fd;
	void (*handler)(void *argument, uint32_t events);
	void *argument;
};

must_check int loop_open(int *ret, struct error *err);
/* Begin a watch, and change what it waits for. events: of epoll_ctl(2). */
must_check int loop_add(int loop, struct loop_watch *watch, uint32_t events, struct error *err);
must_check int loop_change(int loop, struct loop_watch *watch, uint32_t events, struct error *err);
/* Ends a watch and closes its descriptor. */
void loop_remove(int loop, struct loop_watch *watch);
/* Waits for one event, but not beyond timeout (ms, -1: for ever), and has it handled. */
must_check int loop_step(int loop, int timeout, struct error *err);
