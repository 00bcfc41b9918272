/* SPDX-License-Identifier: MIT */
/* Looks at the arguments of these functions before the call. */
#include "preload/hooks/forward.h"

#include <aio.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "preload/files/real.h"
#include "preload/files/where.h"
#include "preload/process/ending.h"
#include "preload/process/inside.h"
#include "preload/process/next.h"
#include "preload/process/private.h"
#include "preload/process/streams.h"

enum forward_kind {
	/* Kinds that make their arguments real: */
	PLAIN, LOCK, STREAM, POLL, SELECT, MESSAGE, AIO, AIO1, SYSCALL,
	/* Kinds that make all files real, except END: */
	ALL, SHARE, CLONE, LEAVE, PRCTL, OFF, CONFINE, END
};

struct forward {
	const char *name;
	void *_Atomic next; /* NULL: not looked up yet */
	uint8_t kind, numbers, paths;
};

#define FORWARD(name, kind, numbers, paths) struct forward forwarded_##name = { #name, NULL, kind, numbers, paths };
#include "preload/hooks/forwarded.h"
#undef FORWARD

static void *forward_next(struct forward *forward, const void *from)
{
	void *found = atomic_load_explicit(&forward->next, memory_order_acquire);

	if (!found) {
		found = next_of(forward->name, from);
		atomic_store_explicit(&forward->next, found, memory_order_release);
	}
	return found;
}

static void forward_find_one(struct forward *forward)
{
	void *found = strncmp(forward->name, "io_", 3) ? next_behind(forward->name) : NULL;

	if (found)
		atomic_store_explicit(&forward->next, found, memory_order_release);
}

/* Looks names up early: dlsym(3) takes the loader's lock, under which dlopen(3) runs constructors, so a lookup under a
 * lock that a constructor waits for would hang. Ring libraries (io_*) are looked up when called: dlsym(3) allocates
 * memory for a missing name. */
void forward_find(void)
{
#define FORWARD(name, kind, numbers, paths) forward_find_one(&forwarded_##name);
#include "preload/hooks/forwarded.h"
#undef FORWARD
}

/* --- arguments --- */

static void forward_arguments(const struct forward *forward, const uint64_t *arguments)
{
	for (unsigned i = 0; i < 6; i++) {
		const char *path = (const char *)(uintptr_t)arguments[i];

		if (forward->numbers >> i & 1)
			real_make((int)arguments[i], forward->name);
		if (forward->paths >> i & 1 && path)
			real_make(where_number(path), forward->name);
	}
}

static void forward_poll(const struct forward *forward, const uint64_t *arguments)
{
	const struct pollfd *items = (const struct pollfd *)(uintptr_t)arguments[0];

	struct rlimit limit;

	/* poll(2) refuses more, and they need not be readable. */
	if (!items || getrlimit(RLIMIT_NOFILE, &limit) < 0 || (unsigned)arguments[1] > limit.rlim_cur)
		return;
	for (unsigned i = 0; i < (unsigned)arguments[1]; i++)
		real_make(items[i].fd, forward->name);
}

static void forward_select(const struct forward *forward, const uint64_t *arguments)
{
	for (int fd = table_next(0); fd >= 0 && fd < (int)arguments[0] && fd < FD_SETSIZE;
	     fd = table_next((unsigned)fd + 1))
		for (unsigned i = 1; i <= 3; i++) {
			const fd_set *set = (const fd_set *)(uintptr_t)arguments[i];

			if (set && FD_ISSET(fd, set))
				real_make(fd, forward->name);
		}
}

/* Makes all real if the message has control data, which may pass descriptors. */
static void forward_message(const struct forward *forward, const uint64_t *arguments)
{
	const struct msghdr *message = (const struct msghdr *)(uintptr_t)arguments[1];

	if (message && message->msg_control && message->msg_controllen)
		real_make_all(forward->name);
}

static void forward_aio(const struct forward *forward, uint64_t argument)
{
	const struct aiocb *request = (const struct aiocb *)(uintptr_t)argument;

	if (request)
		real_make(request->aio_fildes, forward->name);
}

/* --- system calls by their number --- */

static enum forward_kind forward_system_call(uint64_t number)
{
	switch (number) {
	case SYS_unshare: case SYS_setns: case SYS_chroot: case SYS_pivot_root: case SYS_capset: case SYS_setuid:
	case SYS_setgid: case SYS_setreuid: case SYS_setregid: case SYS_setresuid: case SYS_setresgid:
	case SYS_setfsuid: case SYS_setfsgid: case SYS_setgroups: case SYS_io_uring_setup: case SYS_io_setup:
	case SYS_landlock_restrict_self:
		return OFF;
	case SYS_seccomp:
		return CONFINE;
	case SYS_clone: case SYS_clone3:
#ifdef SYS_vfork
	case SYS_vfork:
#endif
		return SHARE;
	case SYS_execve: case SYS_execveat:
		return LEAVE;
	case SYS_exit_group:
		return END;
#ifdef SYS_fork
	case SYS_fork: case SYS_open: case SYS_poll: case SYS_select: case SYS_readlink: case SYS_stat:
#endif
	case SYS_openat: case SYS_openat2: case SYS_ppoll: case SYS_pselect6: case SYS_sendmsg: case SYS_sendmmsg:
	case SYS_readlinkat: case SYS_newfstatat: case SYS_statx: case SYS_close_range: case SYS_io_submit:
		return ALL;
	default:
		return PLAIN;
	}
}

/* --- before each call --- */

static void forward_begin(const struct forward *forward, const uint64_t *arguments);

static bool forward_is_dup(uint64_t number)
{
#ifdef SYS_dup2
	if (number == SYS_dup2)
		return true;
#endif
	return number == SYS_dup3;
}

/* Protects our descriptors as the hooks of close(2) and its relatives do. */
static void forward_system_close(const struct forward *forward, const uint64_t *arguments)
{
	unsigned first = (unsigned)arguments[1], second = (unsigned)arguments[2];

	if (arguments[0] == SYS_close_range && arguments[3] & CLOSE_RANGE_UNSHARE)
		real_lose_own(0, UINT_MAX, forward->name);
	else if (arguments[0] == SYS_close_range)
		real_lose_own(first, second, forward->name);
	else if (arguments[0] == SYS_close)
		real_lose_own(first, first, forward->name);
	else if (forward_is_dup(arguments[0]))
		real_lose_own(second, second, forward->name);
}

static void forward_syscall(const struct forward *forward, const uint64_t *arguments)
{
	const struct forward as = { .name = forward->name, .kind = (uint8_t)forward_system_call(arguments[0]) };

	if (arguments[0] == SYS_fcntl && (arguments[2] == F_SETLK || arguments[2] == F_SETLKW))
		real_make_for_lock((int)arguments[1], forward->name);
	forward_system_close(forward, arguments);
	if (as.kind == PLAIN)
		for (unsigned i = 1; i <= 6; i++)
			real_make(arguments[i] < TABLE_SIZE ? (int)arguments[i] : -1, forward->name);
	forward_begin(&as, arguments + 1);
}

static void forward_off(const struct forward *forward)
{
	if (private_is_anothers())
		return;
	real_stop(forward->name);
}

/* Prepares for calls that hand open files on, or change the files that may be served. */
static void forward_change(const struct forward *forward, const uint64_t *arguments)
{
	switch ((enum forward_kind)forward->kind) {
	case SHARE:
	case CLONE:
		private_share();
		real_make_all(forward->name);
		/* The result is two tables of numbers with one memory, or two processes with the same numbers. */
		if (forward->kind == CLONE && arguments[2] & CLONE_VM && !(arguments[2] & CLONE_VFORK))
			forward_off(forward);
		break;
	case PRCTL:
		if (arguments[0] == PR_SET_SECCOMP)
			forward_off(forward);
		break;
	case OFF:
	case CONFINE:
		forward_off(forward);
		break;
	case ALL:
	case LEAVE:
		real_make_all(forward->name);
		break;
	default: /* END: the descriptors go with the process, and a daemon that does not answer is not waited for */
		break;
	}
}

static void forward_begin(const struct forward *forward, const uint64_t *arguments)
{
	switch ((enum forward_kind)forward->kind) {
	case PLAIN:
		break;
	case LOCK:
		real_make_for_lock((int)arguments[0], forward->name);
		break;
	case STREAM:
		streams_add((int)arguments[forward->numbers >> 1]);
		break;
	case POLL:
		forward_poll(forward, arguments);
		break;
	case SELECT:
		forward_select(forward, arguments);
		break;
	case MESSAGE:
		forward_message(forward, arguments);
		break;
	case AIO:
	case AIO1:
		forward_aio(forward, arguments[forward->kind == AIO1]);
		break;
	case SYSCALL:
		forward_syscall(forward, arguments);
		break;
	default:
		forward_change(forward, arguments);
	}
}

/* Whether to report now, the last chance: another program, nothing, or a confined process follows. */
static bool forward_is_over(const struct forward *forward, const uint64_t *arguments, bool *ret_is_confined)
{
	enum forward_kind kind = forward->kind == SYSCALL ? forward_system_call(arguments[0]) : forward->kind;

	*ret_is_confined = kind == CONFINE || (kind == PRCTL && arguments[0] == PR_SET_SECCOMP);
	return kind == LEAVE || kind == END || *ret_is_confined;
}

/* Whether the call matters: some change the files that may be served, even if no open file has to be made real. */
static bool forward_is_concerned(const struct forward *forward)
{
	enum forward_kind kind = forward->kind;

	return table_has_any() || kind == SYSCALL || kind == STREAM || kind == LOCK || kind == SHARE || kind == CLONE ||
	       kind == PRCTL || kind == OFF;
}

void *forward_prepare(struct forward *forward, const struct forward_call *call)
{
	void *found = forward_next(forward, call->from);
	struct inside inside;
	bool is_confined;

	if (inside_is && forward->kind != END) /* our own code never ends the process: a signal handler does */
		return found;
	if (forward_is_concerned(forward) && inside_enter(&inside)) {
		if (table_has_any())
			forward_arguments(forward, call->arguments);
		forward_begin(forward, call->arguments);
		inside_leave(&inside);
	}
	if (forward_is_over(forward, call->arguments, &is_confined))
		ending_tell(is_confined);
	return found;
}
