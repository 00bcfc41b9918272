/* SPDX-License-Identifier: MIT */
/* Runs a child process with two pipes: a byte asks, a struct answers. */
#include "watch/probe.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program/descriptors.h"

static_assert(sizeof(struct probe_answer) <= PIPE_BUF, "an answer is written and read in one piece");

#define PROBE_LOOK '?'
#define PROBE_ANEW '!'

struct probe {
	pid_t process;   /* need not be waited for, because SIGCHLD is ignored */
	int ask, answer; /* ends of pipes */
	bool is_asked;
};

/* ---- the process ---- */

static void probe_look(const char *mount, struct probe_answer *answer)
{
	cleanup(reported_close_ptr) struct reported *reported = NULL;
	struct error err = { 0 };

	*answer = (struct probe_answer){ 0 };
	answer->code = reported_open(mount, &reported, &err);
	if (answer->code < 0)
		snprintf(answer->reason, sizeof(answer->reason), "%s", err.reason);
	else
		reported_take(reported, &answer->stats);
}

/* Detaches the process from its parent, so that no one must wait for it: it keeps the pipes, but no terminal, no output
 * and no directory. It ends with its parent: by a signal, or when the pipe is closed. */
static void probe_leave(int ask, int answer, pid_t parent)
{
	int null = open("/dev/null", O_WRONLY);

	for (int i = 1; i < SIGRTMIN; i++)
		signal(i, SIG_DFL);
	if (setsid() < 0 || chdir("/") < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	if (dup2(ask, 0) < 0 || dup2(answer, 1) < 0 || dup2(null, 2) < 0)
		_exit(1);
	descriptors_close_inherited();
}

static void probe_main(const char *mount, int ask, int answer, pid_t parent) __attribute__((noreturn));
static void probe_main(const char *mount, int ask, int answer, pid_t parent)
{
	struct probe_answer found;
	char byte;

	probe_leave(ask, answer, parent);
	while (read(0, &byte, 1) == 1) {
		if (byte == PROBE_ANEW)
			reported_refresh(mount);
		probe_look(mount, &found);
		if (write(1, &found, sizeof(found)) != (ssize_t)sizeof(found))
			break;
	}
	_exit(0);
}

/* ---- its parent ---- */

static int probe_fork(struct probe *probe, const char *mount, struct error *err)
{
	int ask[2] = { -1, -1 }, answer[2] = { -1, -1 };
	pid_t parent = getpid();

	if (pipe2(ask, O_CLOEXEC) < 0)
		return error_errno(err, "cannot make a pipe");
	probe->ask = ask[1];
	auto_close int asked = ask[0];
	if (pipe2(answer, O_CLOEXEC) < 0)
		return error_errno(err, "cannot make a pipe");
	probe->answer = answer[0];
	auto_close int answering = answer[1];
	signal(SIGCHLD, SIG_IGN);
	probe->process = fork();
	if (probe->process < 0)
		return error_errno(err, "cannot start a process");
	if (probe->process == 0)
		probe_main(mount, asked, answering, parent);
	return 0;
}

static void probe_stop_ptr(struct probe **probe)
{
	probe_stop(*probe, 0);
}

int probe_start(const char *mount, struct probe **ret, struct error *err)
{
	cleanup(probe_stop_ptr) struct probe *probe = calloc(1, sizeof(*probe));
	int r;

	if (!probe)
		return error_no_memory(err);
	probe->ask = probe->answer = -1;
	probe->process = -1;
	r = probe_fork(probe, mount, err);
	if (r == 0)
		*ret = take_ptr(&probe);
	return r;
}

/* Waits for the end of the process if a question is pending: otherwise it has no file of the mount open. */
static void probe_wait(const struct probe *probe, int64_t until)
{
	struct pollfd end = { .fd = probe->answer, .events = 0 }; /* no event: only the end of the process counts */
	int64_t left = until - clock_now();

	if (probe->is_asked && left > 0)
		poll(&end, 1, (int)(left / 1000000));
}

void probe_stop(struct probe *probe, int64_t until)
{
	if (!probe)
		return;
	if (probe->process > 0) {
		kill(probe->process, SIGKILL);
		probe_wait(probe, until);
	}
	close_fd(&probe->ask);
	close_fd(&probe->answer);
	free(probe);
}

static void probe_send(struct probe *probe, char byte)
{
	if (!probe->is_asked)
		probe->is_asked = write(probe->ask, &byte, 1) == 1 || errno == EPIPE;
}

void probe_ask(struct probe *probe)
{
	probe_send(probe, PROBE_LOOK);
}

void probe_ask_anew(struct probe *probe)
{
	probe_send(probe, PROBE_ANEW);
}

bool probe_is_asked(const struct probe *probe)
{
	return probe->is_asked;
}

int probe_fd(const struct probe *probe)
{
	return probe->answer;
}

int probe_take(struct probe *probe, struct probe_answer *ret, struct error *err)
{
	struct pollfd there = { .fd = probe->answer, .events = POLLIN };
	struct probe_answer answer;
	ssize_t n;

	if (poll(&there, 1, 0) <= 0)
		return 0;
	n = read(probe->answer, &answer, sizeof(answer));
	if (n != (ssize_t)sizeof(answer))
		return error_set(err, -EIO, "the process that looks at the mount ended");
	probe->is_asked = false;
	*ret = answer;
	return 1;
}
