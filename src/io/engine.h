/* SPDX-License-Identifier: MIT */
/* The interface for reads of the volume that complete later, by io_uring (io/ring.c) or preadv in threads (io/pool.c).
 * An engine belongs to one thread. Tests put scripted completions behind it. */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

#define IO_READ_IOVECS 8
#define ENGINE_ARGUMENT 24u /* bytes of a command's argument */

/* One read in flight. The caller owns it, and keeps it and the iovecs' memory until done() is called. done() gets
 * the number of bytes read or a negative errno, and runs on the engine's thread. */
struct io_read {
	uint32_t member;
	uint64_t offset;
	struct iovec iov[IO_READ_IOVECS];
	int iov_count;
	void (*done)(struct io_read *read, int result);
	struct io_read *next; /* the engine's, like result */
	int result;
};

/* A command to the descriptor engine_setup.commands (IORING_OP_URING_CMD), with its argument inside the submission.
 * The caller owns it and keeps it until done() is called. The engine repeats it on EAGAIN and EINTR. */
struct io_command {
	uint32_t operation;
	const struct iovec *iov; /* memory that it refers to; also kept by the caller */
	int iov_count;
	uint8_t argument[ENGINE_ARGUMENT];
	void (*done)(struct io_command *command, int result);
	struct io_command *next; /* the engine's */
};

/* Reads at once by preadv(2) and returns the result for done(). */
static inline int io_read_now(const int *volume_fds, const struct io_read *read)
{
	ssize_t n;

	do
		n = preadv(volume_fds[read->member], read->iov, read->iov_count, (off_t)read->offset);
	while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n < 0 ? -errno : (int)n;
}

struct engine;

struct engine_ops {
	/* Never fails: errors arrive at done(), which may be called before this returns. */
	void (*read)(struct engine *engine, struct io_read *read);
	/* Submits a command, like read. Only engines set up for commands have it. */
	void (*command)(struct engine *engine, struct io_command *command);
	/* Waits for completions or until the polled descriptor is readable, and calls done() for each completion.
	 * *ret_readable: the descriptor is readable. block false: does not wait. */
	int (*wait)(struct engine *engine, bool block, bool *ret_readable, struct error *err);
	/* Calls done() for completed reads without a system call. NULL if only a wait can do that. */
	void (*reap)(struct engine *engine);
	/* renew and forget are NULL if there is nothing to do. */
	void (*renew)(struct engine *engine);
	void (*forget)(struct engine *engine);
	bool (*is_open)(struct engine *engine);
	bool (*wind_up)(struct engine *engine, struct io_read **ret);
	void (*free)(struct engine *engine);
};

struct engine {
	const struct engine_ops *ops;
	bool polling; /* set by the owner: whether the polled descriptor may end a wait */
	int64_t shares_until; /* set by the owner, ns: until then an event wakes all waiters, see poll_fd; 0: never */
	int64_t timeout; /* set by the owner: the most ns that a wait for reads lasts; 0: no limit */
	bool pauses; /* set by the owner: a wait lasts until the timeout even if nothing is in flight */
	unsigned left; /* set by the owner: reads in flight that may never come back; they do not count against depth */
	unsigned completions; /* number of completions in the last wait */
	unsigned kept; /* reads that the next wait submits to the kernel */
};

/* poll_fd: a descriptor that ends a wait when it is readable, polled exclusively (one waiter wakes per event); -1:
 * none. wake: an eventfd by which other threads reach the owner: when it is readable, a wait calls woken(), which
 * reads it; -1: none, then there must be no poll_fd. Unlike poll_fd it can end any wait. volume_fds: one per member. */
struct engine_setup {
	int poll_fd;
	int wake;
	void (*woken)(void *argument);
	void *woken_argument;
	const int *volume_fds;
	uint32_t member_count;
	unsigned depth; /* the most reads in flight; further ones are queued */
	bool moves;     /* several threads use it in turn; false: only the thread that made it */
	bool is_freed_elsewhere; /* a thread other than the one that made it frees it */
	bool has_commands;
	int commands;          /* the descriptor that takes them, if has_commands */
	unsigned command_depth; /* the most commands in flight */
};

static inline void engine_read(struct engine *engine, struct io_read *read)
{
	engine->ops->read(engine, read);
}

static inline void engine_command(struct engine *engine, struct io_command *command)
{
	engine->ops->command(engine, command);
}

must_check static inline int engine_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	return engine->ops->wait(engine, block, ret_readable, err);
}

static inline void engine_reap(struct engine *engine)
{
	if (engine->ops->reap)
		engine->ops->reap(engine);
}

/* Must be called after the volume's descriptors were made to refer to other files. Reads in flight still read the
 * former files. */
static inline void engine_renew(struct engine *engine)
{
	if (engine->ops->renew)
		engine->ops->renew(engine);
}

/* Closes the engine's descriptor in a forked child and leaves the rest alone, because the parent goes on using the
 * engine. engine may be NULL. */
static inline void engine_forget(struct engine *engine)
{
	if (engine && engine->ops->forget)
		engine->ops->forget(engine);
}

/* False: the program closed the engine's descriptor, and its number may belong to something else by now. */
static inline bool engine_is_open(struct engine *engine)
{
	return !engine->ops->is_open || engine->ops->is_open(engine);
}

/* Gives up an engine whose wait failed or whose descriptor was closed; its ring is never entered again. Calls done()
 * for completed reads and returns reads that the kernel has not taken, linked by next. False: the kernel still has
 * some, and may write to their memory until a later call returns true. */
static inline bool engine_wind_up(struct engine *engine, struct io_read **ret)
{
	return engine->ops->wind_up(engine, ret);
}

/* Frees the engine, which must have no read in flight. engine may be NULL. */
static inline void engine_free(struct engine *engine)
{
	if (engine)
		engine->ops->free(engine);
}

must_check int ring_new(const struct engine_setup *setup, struct engine **ret, struct error *err);
/* Makes a pool, which starts up to depth threads, capped at a fixed limit, and one more for each read that was left.
 * Depth 1: it has no threads and reads in the owner's. */
must_check int pool_new(const struct engine_setup *setup, struct engine **ret, struct error *err);
