/* SPDX-License-Identifier: MIT */
/* Keeps one flag, which the signal handler sets and every loop checks. */
#include "base/program/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "base/program/signal.h"

static const int interrupt_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define INTERRUPT_SIGNALS (sizeof(interrupt_signals) / sizeof(*interrupt_signals))

static atomic_int interrupted; /* number of the signal that came, or 0 */

static void interrupt_handle(int signal_number)
{
	atomic_store(&interrupted, signal_number);
}

void interrupt_install(void)
{
	struct sigaction action = { .sa_handler = interrupt_handle }; /* no SA_RESTART, so that a wait for input ends */

	for (size_t i = 0; i < INTERRUPT_SIGNALS; i++)
		if (!signal_is_ignored(interrupt_signals[i]))
			sigaction(interrupt_signals[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN); /* a closed progress pipe is no reason to stop */
}

int interrupt_check(struct error *err)
{
	if (atomic_load_explicit(&interrupted, memory_order_relaxed))
		return error_set(err, -EINTR, "interrupted");
	return 0;
}

void interrupt_end(void)
{
	int number = atomic_load(&interrupted);

	if (!number)
		return;
	signal(number, SIG_DFL);
	raise(number);
}

static int interrupt_wait(int fd, struct error *err)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };

	return interrupt_poll(&input, 1, -1, err);
}

ssize_t interrupt_read(int fd, void *buffer, size_t size, struct error *err)
{
	ssize_t n;
	int r;

	do {
		r = interrupt_wait(fd, err);
		if (r < 0)
			return r;
		n = read(fd, buffer, size);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR));
	return n < 0 ? error_errno(err, "read") : n;
}

/* Blocks the signals between the check and ppoll(), because one that came there would not end the wait. */
int interrupt_poll(struct pollfd *inputs, size_t count, int64_t ns, struct error *err)
{
	const struct timespec limit = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	sigset_t held, former;
	int r;

	sigemptyset(&held);
	for (size_t i = 0; i < INTERRUPT_SIGNALS; i++)
		sigaddset(&held, interrupt_signals[i]);
	sigprocmask(SIG_BLOCK, &held, &former);
	r = interrupt_check(err);
	if (r == 0 && ppoll(inputs, count, ns < 0 ? NULL : &limit, &former) < 0) {
		for (size_t i = 0; i < count; i++)
			inputs[i].revents = 0;
		r = errno == EINTR ? 0 : error_errno(err, "ppoll");
	}
	sigprocmask(SIG_SETMASK, &former, NULL);
	return r < 0 ? r : interrupt_check(err);
}
