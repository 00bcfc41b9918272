/* SPDX-License-Identifier: MIT */
/* Runs a child process: a byte asks, a struct answers. */
#include "mounts/probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program/child.h"

#define PROBE_LOOK '?'
#define PROBE_ANEW '!'

struct probe {
	struct child child; /* need not be waited for, because SIGCHLD is ignored */
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

static void probe_main(const void *mount, int fd)
{
	struct probe_answer found;
	char byte;

	while (read(fd, &byte, 1) == 1) {
		if (byte == PROBE_ANEW)
			reported_refresh(mount);
		probe_look(mount, &found);
		if (write(fd, &found, sizeof(found)) != (ssize_t)sizeof(found))
			break;
	}
}

/* ---- its parent ---- */

int probe_start(const char *mount, struct probe **ret, struct error *err)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	int r;

	if (!probe)
		return error_no_memory(err);
	signal(SIGCHLD, SIG_IGN);
	r = child_start(&probe->child, probe_main, mount, err);
	if (r == 0)
		*ret = probe;
	else
		free(probe);
	return r;
}

void probe_stop(struct probe *probe, int64_t until)
{
	if (!probe)
		return;
	child_kill(&probe->child, probe->is_asked ? until : 0); /* it has files of the mount open only then */
	free(probe);
}

/* A failure shows when the answer is taken. */
static void probe_send(struct probe *probe, char byte)
{
	if (!probe->is_asked)
		(void)!send(probe->child.fd, &byte, 1, MSG_NOSIGNAL);
	probe->is_asked = true;
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
	return probe->child.fd;
}

int probe_take(struct probe *probe, struct probe_answer *ret, struct error *err)
{
	struct probe_answer answer;
	ssize_t n = recv(probe->child.fd, &answer, sizeof(answer), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n != (ssize_t)sizeof(answer))
		return error_set(err, -EIO, "the process that looks at the mount ended");
	probe->is_asked = false;
	*ret = answer;
	return 1;
}
