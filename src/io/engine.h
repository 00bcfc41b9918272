/* SPDX-License-Identifier: MIT */
/* Reads of the volume that complete later, through io_uring (io/ring.c) or preadv (io/sync.c; io/pool.c by threads). An
 * engine belongs to one thread. Tests put scripted completions behind this seam. */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

#define IO_READ_IOVECS 8
#define ENGINE_ARGUMENT 24u /* bytes of a command's argument */

/* One read in flight. The caller owns it and keeps it and the iovecs until done() was called; done() gets bytes
 * read or a negative errno and runs on the engine's thread. */
struct io_read {
	uint32_t member;
	uint64_t offset;
	struct iovec iov[IO_READ_IOVECS];
	int iov_count;
	void (*done)(struct io_read *read, int result);
	struct io_read *next; /* the engine's, as is the result */
	int result;
};

/* A command to the descriptor engine_setup.commands (IORING_OP_URING_CMD), with its argument in the submission itself.
 * The caller owns it and keeps it until done() was called. One that the kernel wants repeated (EAGAIN, EINTR) is. */
struct io_command {
	uint32_t operation;
	const struct iovec *iov; /* memory it is about; kept by the caller as well */
	int iov_count;
	uint8_t argument[ENGINE_ARGUMENT];
	void (*done)(struct io_command *command, int result);
	struct io_command *next; /* the engine's */
};

/* The same at once, by preadv(2): what done() gets. */
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
	/* Never fails: trouble arrives at done(). May call done() before it returns. */
	void (*read)(struct engine *engine, struct io_read *read);
	/* The same; only engines that were set up for commands have it. */
	void (*command)(struct engine *engine, struct io_command *command);
	/* Waits for completions or for the polled descriptor to be readable, and runs done() of what completed.
	 * *ret_readable tells about the descriptor. block false: only what is there already. */
	int (*wait)(struct engine *engine, bool block, bool *ret_readable, struct error *err);
	/* Runs done() of what has completed, and makes no system call. NULL where only a wait does it. */
	void (*reap)(struct engine *engine);
	/* NULL where nothing is to be done, as is the next. */
	void (*renew)(struct engine *engine);
	void (*forget)(struct engine *engine);
	bool (*is_open)(struct engine *engine);
	bool (*wind_up)(struct engine *engine, struct io_read **ret);
	void (*free)(struct engine *engine);
};

struct engine {
	const struct engine_ops *ops;
	bool polling; /* set by the owner: whether a wait may end because of the polled descriptor */
	int64_t timeout; /* set by the owner: ns that a wait for reads lasts at most; 0: no limit */
	unsigned left; /* set by the owner: reads under way that may not come back; beside them depth others may be */
	unsigned completions; /* that the last wait brought */
	unsigned kept; /* reads that the kernel gets with the next wait */
};

/* poll_fd: a descriptor whose readability ends a wait, polled exclusively (one waiter wakes per event); -1 for none.
 * wake: an eventfd by which other threads reach the owner: woken() is called in a wait when it is readable, and reads
 * it; -1 for none. Unlike poll_fd it ends a wait at any time. volume_fds: one per member. */
struct engine_setup {
	int poll_fd;
	int wake;
	void (*woken)(void *argument);
	void *woken_argument;
	const int *volume_fds;
	uint32_t member_count;
	unsigned depth; /* reads in flight at most; more are queued */
	bool moves;     /* threads use it in turn; else it stays with the one that made it, */
	bool is_freed_elsewhere; /* but for its end */
	bool has_commands;
	int commands;          /* the descriptor that takes them, when has_commands */
	unsigned command_depth; /* commands in flight at most */
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

/* The volume's descriptors have the same numbers but lead elsewhere now. Reads under way stay where they are. */
static inline void engine_renew(struct engine *engine)
{
	if (engine->ops->renew)
		engine->ops->renew(engine);
}

/* In a forked child, of an engine that goes on in the parent: lets go of its descriptors and leaves the rest alone.
 * May be NULL. */
static inline void engine_forget(struct engine *engine)
{
	if (engine && engine->ops->forget)
		engine->ops->forget(engine);
}

/* False: the program closed its descriptor, and may have got the number for something else. */
static inline bool engine_is_open(struct engine *engine)
{
	return !engine->ops->is_open || engine->ops->is_open(engine);
}

/* Of a ring whose wait failed, or which is not open: nobody enters it again. Runs done() of what has completed, and
 * gives back reads that the kernel has not got, linked by next. False: the kernel has some yet, and may write to their
 * memory until a later call says true. */
static inline bool engine_wind_up(struct engine *engine, struct io_read **ret)
{
	return engine->ops->wind_up(engine, ret);
}

/* Nothing is under way. */
static inline void engine_free(struct engine *engine)
{
	if (engine)
		engine->ops->free(engine);
}

must_check int ring_new(const struct engine_setup *setup, struct engine **ret, struct error *err);
/* Polls no descriptor for requests. depth: of its threads, as far as it has so many. */
must_check int pool_new(const struct engine_setup *setup, struct engine **ret, struct error *err);
must_check int sync_new(const struct engine_setup *setup, struct engine **ret, struct error *err);
