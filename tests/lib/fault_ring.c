/* SPDX-License-Identifier: MIT */
/* Preloaded into the daemon: answers the Nth and following FUSE commands on an io_uring with an error instead of
 * letting the kernel have them, or refuses the Nth io_uring.
 *   FAULT_COMMAND  register, commit or setup
 *   FAULT_FROM     which one is the first to fail, from 1; 0 only counts
 *   FAULT_TIMES    how many fail
 *   FAULT_EVERY    only each so-many-th of these, 1 when not set
 *   FAULT_QUEUE    only commands of the queue with this number
 *   FAULT_WHILE    only while there is a file of this name
 *   FAULT_ERROR    a positive errno
 *   FAULT_SLEEP    milliseconds before an io_uring is refused
 *   FAULT_COUNT    a file that gets the number of failed ones at exit */
#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPERATION_REGISTER 1u
#define OPERATION_COMMIT   2u
#define NOP_INJECT_RESULT  1u /* IORING_NOP_INJECT_RESULT: a NOP that completes with sqe->len, Linux 6.10 */

static atomic_long seen, failed;
static long from, times, every, queue;
static int error;
static unsigned operation; /* 0: setup */

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void fault_init(void)
{
	const char *what = getenv("FAULT_COMMAND");

	if (what)
		operation = !strcmp(what, "register") ? OPERATION_REGISTER :
			    !strcmp(what, "commit")   ? OPERATION_COMMIT :
							0;
	from = setting("FAULT_FROM", 0);
	times = setting("FAULT_TIMES", 1);
	every = setting("FAULT_EVERY", 1);
	queue = setting("FAULT_QUEUE", -1);
	error = (int)setting("FAULT_ERROR", EAGAIN);
}

__attribute__((destructor)) static void fault_report(void)
{
	const char *path = getenv("FAULT_COUNT");
	FILE *file = path && atomic_load(&seen) ? fopen(path, "we") : NULL; /* the supervisor sees none */

	if (!file)
		return;
	fprintf(file, "%ld\n", atomic_load(&failed));
	fclose(file);
}

static bool fault_now(void)
{
	const char *file = getenv("FAULT_WHILE");
	long number;

	if (file && access(file, F_OK) < 0)
		return false;
	number = atomic_fetch_add(&seen, 1) + 1;

	if (!from || number < from || number >= from + times * every || (number - from) % every)
		return false;
	atomic_fetch_add(&failed, 1);
	return true;
}

/* fuse_uring_cmd_req: flags and commit_id, 8 bytes each, then the queue. */
static bool fault_concerns(const struct io_uring_sqe *sqe)
{
	uint16_t number;

	memcpy(&number, sqe->cmd + 16, sizeof(number));
	return sqe->opcode == IORING_OP_URING_CMD && sqe->cmd_op == operation && (queue < 0 || number == queue);
}

/* Entries that were prepared but not submitted; a ring for commands has double ones. */
static void fault_rewrite(struct io_uring *ring)
{
	unsigned shift = ring->flags & IORING_SETUP_SQE128 ? 1 : 0;

	for (unsigned i = ring->sq.sqe_head; shift && operation && i != ring->sq.sqe_tail; i++) {
		struct io_uring_sqe *sqe = &ring->sq.sqes[(i & *ring->sq.kring_mask) << shift];
		__u64 data = sqe->user_data;

		if (!fault_concerns(sqe) || !fault_now())
			continue;
		memset(sqe, 0, 2 * sizeof(*sqe));
		sqe->opcode = IORING_OP_NOP;
		sqe->rw_flags = NOP_INJECT_RESULT;
		sqe->len = (__u32)-error;
		sqe->user_data = data;
	}
}

int io_uring_submit(struct io_uring *ring)
{
	static int (*next)(struct io_uring *ring);

	if (!next)
		next = (int (*)(struct io_uring *))dlsym(RTLD_NEXT, "io_uring_submit");
	fault_rewrite(ring);
	return next(ring);
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned count)
{
	static int (*next)(struct io_uring *ring, unsigned count);

	if (!next)
		next = (int (*)(struct io_uring *, unsigned))dlsym(RTLD_NEXT, "io_uring_submit_and_wait");
	fault_rewrite(ring);
	return next(ring, count);
}

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	static int (*next)(unsigned entries, struct io_uring *ring, unsigned flags);

	if (!next)
		next = (int (*)(unsigned, struct io_uring *, unsigned))dlsym(RTLD_NEXT, "io_uring_queue_init");
	if (operation || !fault_now())
		return next(entries, ring, flags);
	usleep((unsigned)setting("FAULT_SLEEP", 0) * 1000);
	return -error;
}
