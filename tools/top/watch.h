/* SPDX-License-Identifier: MIT */
/* The mounts that are watched: which they are, what each said last, and whether it answers. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "mounted.h"
#include "reported.h"
#include "top/probe.h"
#include "top/rates.h"

enum watch_state {
	WATCH_NEW, /* was not heard of yet */
	WATCH_ANSWERS,
	WATCH_SILENT,  /* it does not answer */
	WATCH_REFUSES, /* it answers with an error */
	WATCH_GONE,    /* it is mounted no more, or its daemon ended */
};

struct watch_mount {
	struct mounted mounted;
	struct probe *probe; /* NULL: its process ended */
	enum watch_state state;
	char reason[504]; /* of the last two states */
	bool is_mounted;  /* it stands in the mount table */
	bool has_stats, has_rates;
	struct reported_stats stats; /* the last ones that came */
	struct rates rates;          /* since those before */
	int64_t asked; /* when it was asked the question that it has not answered, ns, monotonic; 0: none */
	int64_t left;  /* when it was seen to be gone, ns, monotonic */
};

struct watch {
	struct watch_mount **mounts;
	size_t count;
	bool is_all; /* every mount of the machine, those that come as well; else those that were named */
};

/* names: mountpoints or paths below them; without any, all mounts of the machine. One that hangs is found by its name
 * in the mount table and not touched. */
must_check int watch_open(struct watch *watch, char *const *names, size_t count, struct error *err);
void watch_close(struct watch *watch);

/* Looks at the mount table and asks each mount that is not asked yet. */
must_check int watch_ask(struct watch *watch, struct error *err);
/* What came meanwhile. True: nobody is asked any more. */
bool watch_take(struct watch *watch);
/* Those that have not answered by now are silent. */
void watch_settle(struct watch *watch);
/* Descriptors to wait for, room for count of them. Returns how many. */
size_t watch_fds(const struct watch *watch, struct pollfd *fds, size_t count);
