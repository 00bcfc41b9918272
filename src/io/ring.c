/* SPDX-License-Identifier: MIT */
/* The engine over io_uring: one ring per thread carries the reads of the volume and polls for requests. */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/same.h"
#include "io/engine.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_acquire(address) ((void)(address))
#define __tsan_release(address) ((void)(address))
#endif

/* user_data is RING_POLL, RING_WAKE, the address of a read, or the address of a command with RING_COMMAND */
#define RING_POLL   UINT64_C(1)
#define RING_COMMAND UINT64_C(2)
#define RING_WAKE    UINT64_C(4)

struct ring {
	struct engine engine;
	struct io_uring uring;
	int *fds;        /* one per member, then the polled descriptor or the one for commands */
	uint32_t member_count;
	int poll_fd;       /* -1: none */
	bool registered; /* fds are the ring's fixed files, in the same order */
	bool armed;      /* the kernel has the poll */
	int wake;        /* -1: none */
	bool wake_armed;
	bool is_lost;    /* wound up: never entered again */
	void (*woken)(void *argument);
	void *woken_argument;
	unsigned depth, in_flight;
	struct stat file; /* identity of the ring's file */
	unsigned commands; /* with the kernel or queued */
	struct io_command *command_first, **command_end;
	struct io_read *queue_first, **queue_end; /* reads that wait for room */
};

/* liburing maps and unmaps its rings by system calls of its own, which ThreadSanitizer does not see: it would take a
 * ring at the place of one that another thread freed for the same memory. So it is told that the end of every ring
 * comes before the beginning of each later one, as in the kernel. */
static char rings;

static int ring_map(struct ring *ring, unsigned entries, unsigned flags)
{
	int r = io_uring_queue_init(entries, &ring->uring, flags);

	__tsan_acquire(&rings);
	return r;
}

static void ring_unmap(struct ring *ring)
{
	__tsan_release(&rings);
	io_uring_queue_exit(&ring->uring);
}

/* Does fstat(2). liburing closes the descriptor unseen as well, and ThreadSanitizer would take the next file with its
 * number for the ring, if it had seen this. */
static int ring_stat(int fd, struct stat *ret)
{
#ifdef __SANITIZE_THREAD__
	return (int)syscall(SYS_fstat, fd, ret);
#else
	return fstat(fd, ret);
#endif
}

static struct io_uring_sqe *ring_sqe(struct ring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);

	if (!sqe) {
		io_uring_submit(&ring->uring);
		sqe = io_uring_get_sqe(&ring->uring);
	}
	return sqe;
}

/* Sets the entry's file. number: a member, or member_count for the polled descriptor or the one for commands. */
static void ring_set_file(struct ring *ring, struct io_uring_sqe *sqe, uint32_t number)
{
	if (ring->registered) {
		sqe->fd = (int)number;
		sqe->flags |= IOSQE_FIXED_FILE;
	} else {
		sqe->fd = ring->fds[number];
	}
}

static bool ring_submit_read(struct ring *ring, struct io_read *read)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	if (!sqe)
		return false;
	if (read->iov_count == 1)
		io_uring_prep_read(sqe, 0, read->iov[0].iov_base, (unsigned)read->iov[0].iov_len,
				   read->offset);
	else
		io_uring_prep_readv(sqe, 0, read->iov, (unsigned)read->iov_count, read->offset);
	ring_set_file(ring, sqe, read->member);
	io_uring_sqe_set_data(sqe, read);
	ring->in_flight++;
	ring->engine.kept = io_uring_sq_ready(&ring->uring);
	return true;
}

static bool ring_has_room(const struct ring *ring)
{
	return ring->in_flight < ring->depth + ring->engine.left;
}

static void ring_read(struct engine *engine, struct io_read *read)
{
	struct ring *ring = (struct ring *)engine;

	if (read->member >= ring->member_count) {
		read->done(read, -ENXIO);
		return;
	}
	if (!ring_has_room(ring) || !ring_submit_read(ring, read))
		list_append(ring->queue_end, read, next);
}

static void ring_start_queued(struct ring *ring)
{
	struct io_read *read;

	while ((read = ring->queue_first) && ring_has_room(ring)) {
		if (!ring_submit_read(ring, read))
			return;
		(void)list_take(ring->queue_first, ring->queue_end, next);
	}
}

static bool ring_submit_command(struct ring *ring, struct io_command *command)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	if (!sqe)
		return false;
	memset(sqe, 0, 2 * sizeof(*sqe)); /* a ring for commands has entries of double size */
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->cmd_op = command->operation;
	sqe->addr = (uintptr_t)command->iov;
	sqe->len = (uint32_t)command->iov_count;
	memcpy(sqe->cmd, command->argument, sizeof(command->argument));
	ring_set_file(ring, sqe, ring->member_count);
	io_uring_sqe_set_data64(sqe, (uintptr_t)command | RING_COMMAND);
	return true;
}

static void ring_command(struct engine *engine, struct io_command *command)
{
	struct ring *ring = (struct ring *)engine;

	ring->commands++;
	if (!ring_submit_command(ring, command))
		list_append(ring->command_end, command, next);
}

static void ring_start_commands(struct ring *ring)
{
	struct io_command *command;

	while ((command = ring->command_first) && ring_submit_command(ring, command))
		(void)list_take(ring->command_first, ring->command_end, next);
}

/* Whether an event wakes all waiters. */
static bool ring_shares(struct ring *ring)
{
	if (ring->engine.shares_until && clock_now() >= ring->engine.shares_until)
		ring->engine.shares_until = 0;
	return ring->engine.shares_until;
}

/* Arms an exclusive poll, so that a request wakes one waiting worker, not all. It fires once; when armed again it
 * fires at once if there is something to read. */
static void ring_arm(struct ring *ring)
{
	struct io_uring_sqe *sqe;

	if (ring->poll_fd < 0 || ring->armed || !ring->engine.polling)
		return;
	sqe = ring_sqe(ring);
	if (!sqe)
		return;
	io_uring_prep_poll_add(sqe, 0, POLLIN | (ring_shares(ring) ? 0 : EPOLLEXCLUSIVE));
	ring_set_file(ring, sqe, ring->member_count);
	io_uring_sqe_set_data64(sqe, RING_POLL);
	ring->armed = true;
}

static void ring_arm_wake(struct ring *ring)
{
	struct io_uring_sqe *sqe;

	if (ring->wake < 0 || ring->wake_armed)
		return;
	sqe = ring_sqe(ring);
	if (!sqe)
		return;
	io_uring_prep_poll_add(sqe, ring->wake, POLLIN);
	io_uring_sqe_set_data64(sqe, RING_WAKE);
	ring->wake_armed = true;
}

/* False: it is submitted once more. */
static bool ring_command_ends(struct ring *ring, struct io_command *command, int result)
{
	bool ends = result != -EAGAIN && result != -EINTR;

	if (ends)
		ring->commands--;
	else
		list_append(ring->command_end, command, next);
	return ends;
}

/* False: it is submitted once more. The kernel cancels a read that it would hand to a thread if it can make none
 * (pids.max), or if the thread that submitted the read has ended. By the ring it would be cancelled again, so it is
 * read here. */
static bool ring_read_ends(struct ring *ring, struct io_read *read, int *result)
{
	bool ends;

	ring->in_flight--;
	if (*result == -ECANCELED && !ring->is_lost)
		*result = io_read_now(ring->fds, read);
	ends = *result != -EAGAIN && *result != -EINTR && (*result != -ECANCELED || !ring->is_lost);
	if (!ends)
		list_append(ring->queue_end, read, next);
	return ends;
}

static void ring_look(struct ring *ring, bool *readable)
{
	struct io_uring_cqe *cqe;

	ring->engine.completions = 0;
	while (io_uring_peek_cqe(&ring->uring, &cqe) == 0) {
		uint64_t data = io_uring_cqe_get_data64(cqe);
		int result = cqe->res;

		/* Freed first, because done() may start a read whose completion needs the room. */
		io_uring_cqe_seen(&ring->uring, cqe);
		ring->engine.completions++;
		if (data & RING_COMMAND) {
			struct io_command *command = (struct io_command *)(uintptr_t)(data & ~RING_COMMAND);

			if (ring_command_ends(ring, command, result))
				command->done(command, result);
		} else if (data == RING_POLL) {
			ring->armed = false;
			*readable = true;
		} else if (data == RING_WAKE) {
			ring->wake_armed = false;
			ring->woken(ring->woken_argument);
		} else {
			struct io_read *read = (struct io_read *)(uintptr_t)data;

			if (ring_read_ends(ring, read, &result))
				read->done(read, result);
		}
	}
	if (!ring->is_lost)
		ring_start_queued(ring);
}

static int ring_enter(struct ring *ring)
{
	struct __kernel_timespec limit = { .tv_sec = ring->engine.timeout / 1000000000,
					   .tv_nsec = ring->engine.timeout % 1000000000 };
	struct io_uring_cqe *cqe;

	return ring->engine.timeout ? io_uring_submit_and_wait_timeout(&ring->uring, &cqe, 1, &limit, NULL) :
				      io_uring_submit_and_wait(&ring->uring, 1);
}

static int ring_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	struct ring *ring = (struct ring *)engine;
	bool readable = false;
	int r;

	ring_start_commands(ring);
	ring_start_queued(ring);
	ring_arm(ring);
	ring_arm_wake(ring);
	/* If nothing is in flight, nothing could end the wait. */
	if (!ring->armed && !ring->wake_armed && !ring->in_flight && !ring->commands && !engine->pauses)
		block = false;
	r = block ? ring_enter(ring) : io_uring_submit(&ring->uring);
	if (r < 0 && r != -EINTR && r != -EAGAIN && r != -EBUSY && r != -ETIME)
		return error_set(err, r, "io_uring_enter: %s", strerror(-r));
	ring->engine.kept = io_uring_sq_ready(&ring->uring);
	ring_look(ring, &readable);
	*ret_readable = readable;
	return 0;
}

/* The ring polls no descriptor, so readable is not needed. */
static void ring_reap(struct engine *engine)
{
	bool readable;

	ring_look((struct ring *)engine, &readable);
}

/* If the kernel refuses the update, plain descriptors are used from now on. */
static void ring_renew(struct engine *engine)
{
	struct ring *ring = (struct ring *)engine;

	if (ring->registered)
		ring->registered = io_uring_register_files_update(&ring->uring, 0, ring->fds, ring->member_count) ==
				   (int)ring->member_count;
}

static bool ring_is_open(struct engine *engine)
{
	const struct ring *ring = (const struct ring *)engine;
	struct stat st;

	return ring_stat(ring->uring.ring_fd, &st) == 0 && same_file(&st, &ring->file);
}

static void ring_forget(struct engine *engine)
{
	if (ring_is_open(engine))
		close(((struct ring *)engine)->uring.ring_fd);
}

/* Takes back the submission entries that the kernel has not consumed and never will. */
static void ring_take_back(struct ring *ring)
{
	const struct io_uring_sq *sq = &ring->uring.sq;

	for (unsigned at = io_uring_smp_load_acquire(sq->khead); at != sq->sqe_tail; at++) {
		const struct io_uring_sqe *sqe = &sq->sqes[at & sq->ring_mask];

		if (sqe->opcode != IORING_OP_READ && sqe->opcode != IORING_OP_READV)
			continue; /* before Linux 5.11 a wait's timeout is an entry */
		ring->in_flight--;
		list_append(ring->queue_end, (struct io_read *)(uintptr_t)sqe->user_data, next);
	}
}

/* Submitted reads complete in shared memory, without a system call and without the descriptor: the mapping keeps the
 * ring alive. */
static bool ring_wind_up(struct engine *engine, struct io_read **ret)
{
	struct ring *ring = (struct ring *)engine;
	bool readable;

	if (!ring->is_lost)
		ring_take_back(ring);
	ring->is_lost = true;
	ring_look(ring, &readable);
	*ret = ring->queue_first;
	ring->queue_first = NULL;
	ring->queue_end = &ring->queue_first;
	return !ring->in_flight;
}

static void ring_free(struct engine *engine)
{
	struct ring *ring = (struct ring *)engine;

	/* The kernel tears the ring down later in its own thread, which must not keep the volume open until then. */
	if (!ring_is_open(engine))
		ring->uring.ring_fd = -1; /* the number may be another file's by now */
	else if (ring->registered)
		io_uring_unregister_files(&ring->uring);
	ring_unmap(ring);
	free(ring->fds);
	free(ring);
}

/* Requires IORING_OP_READ, of Linux 5.6, as is the probe. */
static int ring_check_reads(struct ring *ring, struct error *err)
{
	union {
		struct io_uring_probe probe;
		uint8_t room[sizeof(struct io_uring_probe) + (IORING_OP_READ + 1) * sizeof(struct io_uring_probe_op)];
	} answer = { 0 };

	if (io_uring_register_probe(&ring->uring, &answer.probe, IORING_OP_READ + 1) == 0 &&
	    io_uring_opcode_supported(&answer.probe, IORING_OP_READ))
		return 0;
	return error_set(err, -EOPNOTSUPP, "this kernel's io_uring has no IORING_OP_READ, expected Linux 5.6 or newer");
}

/* Limits the kernel's worker threads, 4 for each CPU, which read files that cannot be read asynchronously. A member
 * that does not answer would occupy them all and block the others, as it still does before Linux 5.15. */
static void ring_add_threads(struct ring *ring)
{
	unsigned limits[2] = { 2 * ring->depth, 0 };

	if (ring->member_count > 1)
		io_uring_register_iowq_max_workers(&ring->uring, limits);
}

/* Tries the newest kernel features first; older kernels refuse unknown flags. All but the last set make completions
 * wait for the submitting thread. */
static int ring_setup(struct ring *ring, const struct engine_setup *setup, struct error *err)
{
	const unsigned wide = setup->has_commands ? IORING_SETUP_SQE128 : 0;
	const unsigned flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, /* 6.0 */
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,                              /* 5.19 */
		0,
	};
	unsigned entries = ring->depth + 2 + (setup->has_commands ? setup->command_depth : 0); /* 2: poll, wake */
	int r = -EINVAL;

	for (size_t i = setup->moves ? 2 : 0; i < sizeof(flags) / sizeof(*flags) && r == -EINVAL; i++)
		r = ring_map(ring, entries, flags[i] | wide);
	if (r < 0)
		return error_set(err, r, "io_uring_setup: %s", strerror(-r));
	r = ring_check_reads(ring, err);
	if (r == 0 && ring_stat(ring->uring.ring_fd, &ring->file) < 0)
		r = error_errno(err, "fstat");
	if (r < 0)
		ring_unmap(ring);
	return r;
}

int ring_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	static const struct engine_ops ops = {
		.read = ring_read, .command = ring_command, .wait = ring_wait, .reap = ring_reap,
		.renew = ring_renew, .forget = ring_forget, .is_open = ring_is_open, .wind_up = ring_wind_up,
		.free = ring_free
	};
	struct ring *ring = calloc(1, sizeof(*ring));
	int r;

	if (!ring)
		return error_no_memory(err);
	ring->fds = calloc(setup->member_count + 1, sizeof(*ring->fds));
	if (!ring->fds) {
		free(ring);
		return error_no_memory(err);
	}
	memcpy(ring->fds, setup->volume_fds, setup->member_count * sizeof(*ring->fds));
	ring->fds[setup->member_count] = setup->has_commands ? setup->commands : setup->poll_fd;
	ring->engine = (struct engine){ .ops = &ops, .polling = true };
	ring->member_count = setup->member_count;
	ring->poll_fd = setup->has_commands ? -1 : setup->poll_fd;
	ring->wake = setup->wake;
	ring->woken = setup->woken;
	ring->woken_argument = setup->woken_argument;
	ring->depth = setup->depth;
	ring->queue_end = &ring->queue_first;
	ring->command_end = &ring->command_first;
	r = ring_setup(ring, setup, err);
	if (r < 0) {
		free(ring->fds);
		free(ring);
		return r;
	}
	ring_add_threads(ring);
	/* Both save reference counting per call; if refused, plain descriptors work. The ring's registered number is
	 * valid only in this thread, so another thread could not unregister it. */
	if (!setup->moves && !setup->is_freed_elsewhere)
		io_uring_register_ring_fd(&ring->uring);
	ring->registered = io_uring_register_files(&ring->uring, ring->fds,
						   setup->member_count + (ring->fds[setup->member_count] >= 0)) ==
			   0;
	*ret = &ring->engine;
	return 0;
}
