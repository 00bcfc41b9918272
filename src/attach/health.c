/* SPDX-License-Identifier: MIT */
/* Runs a child that asks. */
#include "attach/health.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program/child.h"
#include "base/program/step.h"
#include "device/dotfile.h"

#define HEALTH_PATIENCE 10000 /* ms: a server that was killed is replaced in less */

struct health_answer {
	int code;
	struct dsfs_version_facts facts;
};

static void health_child(const void *mount, int fd)
{
	struct health_answer answer = { 0 };
	int control = -1;

	answer.code = dotfile_open(mount, DSFS_CONTROL_CONTROL, &control, NULL);
	if (answer.code == 0 && ioctl(control, DSFS_IOC_VERSION, &answer.facts) < 0)
		answer.code = -errno;
	(void)!write(fd, &answer, sizeof(answer));
}

static int health_wait(const struct child *child, struct health_answer *ret, struct error *err)
{
	int patience = step_number("DATASETFS_ATTACH_PATIENCE", HEALTH_PATIENCE);
	struct pollfd fd = { .fd = child->fd, .events = POLLIN };
	int64_t until = clock_now() + patience * INT64_C(1000000), left;

	while ((left = until - clock_now()) > 0 && poll(&fd, 1, (int)(left / 1000000) + 1) < 0 && errno == EINTR)
		continue;
	if (!fd.revents)
		return error_set(err, -ETIMEDOUT, "the mount does not answer within %d s", patience / 1000);
	if (recv(child->fd, ret, sizeof(*ret), MSG_DONTWAIT) != (ssize_t)sizeof(*ret))
		return error_set(err, -EIO, "the process that looks at the mount ended");
	return 0;
}

int health_ask(const char *mount, struct dsfs_version_facts *ret, struct error *err)
{
	struct health_answer answer = { 0 };
	struct child child = CHILD_NONE;
	int r = child_start(&child, health_child, mount, err);

	if (r == 0)
		r = health_wait(&child, &answer, err);
	child_kill(&child, clock_now() + INT64_C(1000000000));
	child_is_gone(&child);
	if (r == 0 && answer.code == -ECONNABORTED)
		answer.code = -ENOTCONN;
	if (r == 0 && answer.code == -ENOTCONN)
		r = error_set(err, -ENOTCONN, "the daemon of the mount is gone");
	else if (r == 0 && answer.code < 0)
		r = error_set(err, answer.code, "the mount does not tell its version: %s", strerror(-answer.code));
	if (r < 0)
		return r;
	answer.facts.label[sizeof(answer.facts.label) - 1] = 0;
	*ret = answer.facts;
	return 0;
}
