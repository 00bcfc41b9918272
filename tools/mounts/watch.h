/* SPDX-License-Identifier: MIT */
/* Watches mounts: keeps a list of them, the last answer of each, and whether it still answers. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "mounts/mounted.h"
#include "mounts/probe.h"
#include "mounts/rates.h"
#include "mounts/reported.h"

enum watch_state {
	WATCH_NEW, /* it has not answered yet */
	WATCH_KERNEL, /* the kernel serves it by itself: stats and rates are of devices alone */
	WATCH_ANSWERS,
	WATCH_SILENT,  /* it does not answer */
	WATCH_REFUSES, /* it answers with an error */
	WATCH_GONE,    /* it was unmounted, or its daemon ended */
};

struct watch_mount {
	struct mounted mounted;
	struct probe *probe; /* NULL: its process ended */
	enum watch_state state;
	char reason[504]; /* why it is silent, refuses or is gone */
	bool is_mounted;  /* it is in the mount table */
	bool has_stats, has_rates;
	struct reported_stats stats; /* the last answer */
	struct rates rates;          /* between the last two answers */
	int64_t asked; /* when the unanswered question was asked, ns, monotonic; 0: none */
	int64_t left;  /* when it was first seen to be gone, ns, monotonic */
};

struct watch {
	struct watch_mount **mounts;
	size_t count;
	bool is_all; /* watches every mount of the machine, also later ones; false: only named ones */
};

/* Begins to watch mounts. names: mountpoints or paths below them, count of them; 0: all mounts of the machine. A mount
 * that hangs is found by its name in the mount table, without touching it. */
must_check int watch_open(struct watch *watch, char *const *names, size_t count, struct error *err);
void watch_close(struct watch *watch);

/* Reads the mount table, and asks each mount that has no question pending. */
must_check int watch_ask(struct watch *watch, struct error *err);
/* Takes the answers that have arrived. True: no question is pending any more. */
bool watch_take(struct watch *watch);
/* Marks mounts that have not answered yet as silent. */
void watch_settle(struct watch *watch);
/* Waits five seconds at most for what watch_ask() asked, and settles the rest. -EINTR: a signal came. */
must_check int watch_wait(struct watch *watch, struct error *err);
/* Fills fds, which has room for count, with the descriptors to wait for. Returns how many. */
size_t watch_fds(const struct watch *watch, struct pollfd *fds, size_t count);
