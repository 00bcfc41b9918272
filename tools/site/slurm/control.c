/* SPDX-License-Identifier: MIT */
/* Reads what datasetfsctl says on standard error until it closes that, which it does when it ends. */
#include "slurm/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define CONTROL_ARGUMENTS 12u
#define CONTROL_PATH      "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct control {
	pid_t process;
	int said;       /* read end of its standard error */
	char text[512];
	size_t length;
};

/* ---- start ---- */

/* The daemon of a first attach lies beside datasetfsctl. */
static int control_spawn(const struct site *site, const char *const *words, const posix_spawn_file_actions_t *actions,
			 pid_t *ret)
{
	int folder = (int)(strrchr(site->control, '/') - site->control);
	char path[PATH_MAX + sizeof(CONTROL_PATH) + 8], *environment[] = { path, NULL };
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	snprintf(path, sizeof(path), "PATH=%.*s:%s", folder, site->control, CONTROL_PATH);
	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_init(&attributes);
	if (r)
		return r;
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(ret, site->control, actions, &attributes, (char *const *)(uintptr_t)words, environment);
	posix_spawnattr_destroy(&attributes);
	return r;
}

/* Makes a pipe. Its ends are not 0 to 2, which may be closed here, and which the actions of a start replace. */
static int control_pipe(int *ret_read, int *ret_write, struct error *err)
{
	int low[2];

	if (pipe2(low, O_CLOEXEC) < 0)
		return error_errno(err, "cannot make a pipe");
	*ret_read = fcntl(low[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	*ret_write = fcntl(low[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(low[0]);
	close(low[1]);
	return *ret_read < 0 || *ret_write < 0 ? error_errno(err, "cannot make a pipe") : 0;
}

static int control_start(const struct site *site, const char *const *words, struct control *control, struct error *err)
{
	posix_spawn_file_actions_t actions;
	auto_close int there = -1;
	int r = control_pipe(&control->said, &there, err);

	if (r < 0)
		return r;
	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return error_no_memory(err);
	r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, there, STDERR_FILENO);
	if (!r)
		r = control_spawn(site, words, &actions, &control->process);
	posix_spawn_file_actions_destroy(&actions);
	return r ? error_set(err, -r, "cannot run '%s': %s", site->control, strerror(r)) : 0;
}

/* ---- end ---- */

/* Returns false when there is no more, or the time is over. */
static bool control_read(struct control *control, int64_t deadline)
{
	struct pollfd said = { .fd = control->said, .events = POLLIN };
	int64_t left = (deadline - clock_now()) / 1000000;
	char dropped[256];
	bool is_full = control->length == sizeof(control->text) - 1;
	ssize_t got;

	if (left <= 0 || (poll(&said, 1, (int)left) < 0 && errno != EINTR))
		return false;
	if (!said.revents)
		return true;
	got = is_full ? read(control->said, dropped, sizeof(dropped)) :
			read(control->said, control->text + control->length,
			     sizeof(control->text) - 1 - control->length);
	if (got > 0 && !is_full)
		control->length += (size_t)got;
	return got > 0 || (got < 0 && errno == EINTR);
}

/* Waits until it has ended. One that is killed but hangs in the kernel is left. */
static int control_wait(const struct control *control, const struct site *site, int64_t deadline, int *ret,
			struct error *err)
{
	pid_t ended;

	while ((ended = waitpid(control->process, ret, WNOHANG)) == 0 && clock_now() < deadline)
		poll(NULL, 0, 1);
	if (ended == control->process)
		return 0;
	if (ended < 0)
		return error_errno(err, "cannot wait for '%s'", site->control);
	kill(control->process, SIGKILL);
	for (int i = 0; i < 1000 && waitpid(control->process, ret, WNOHANG) == 0; i++)
		poll(NULL, 0, 1);
	return error_set(err, -ETIMEDOUT, "'%s' did not end within %u seconds", site->control, site->timeout);
}

/* Makes its first line the reason, without its own name. */
static int control_fail(struct control *control, const struct site *site, int status, struct error *err)
{
	static const char own[] = "datasetfsctl: ";
	const char *line = control->text;

	control->text[strcspn(control->text, "\n")] = 0;
	if (!strncmp(line, own, sizeof(own) - 1))
		line += sizeof(own) - 1;
	if (*line)
		return error_set(err, -EIO, "%s", line);
	return error_set(err, -EIO, "'%s' ended with %s %d, and said nothing", site->control,
			 WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void control_close(struct control *control)
{
	close_fd(&control->said);
}

int control_run(const struct site *site, const char *const *arguments, struct error *err)
{
	cleanup(control_close) struct control control = { .said = -1 };
	int64_t deadline = clock_now() + (int64_t)site->timeout * 1000000000;
	const char *words[CONTROL_ARGUMENTS + 2] = { "datasetfsctl" };
	int status = 0, r;

	for (size_t i = 0; i < CONTROL_ARGUMENTS && arguments[i]; i++)
		words[i + 1] = arguments[i];
	r = control_start(site, words, &control, err);
	if (r < 0)
		return r;
	while (control_read(&control, deadline))
		;
	r = control_wait(&control, site, deadline, &status, err);
	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status)))
		r = control_fail(&control, site, status, err);
	return r;
}
