/* SPDX-License-Identifier: MIT */
/* Runs a child for each mount, which asks. */
#include "attach/health.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program/step.h"
#include "base/text/parse.h"
#include "device/dotfile.h"
#include "device/kernel_view.h"
#include "device/occupied.h"

#define HEALTH_PATIENCE 10000 /* ms: a server that was killed is replaced in less */

struct health_answer {
	int code;
	struct dsfs_version_facts facts;
	struct error why; /* of a mount by the kernel */
};

/* ---- in the child ---- */

int health_of_kernel(const char *mount, dev_t device, struct dsfs_version_facts *ret, struct error *err)
{
	auto_kernel_view struct kernel_view view = { .count = 0 };
	const struct mount_record *record = &view.record;
	struct dsfs_version_facts facts = { .sequence = 0 };
	int r = kernel_view_read(mount, device, &view, err);

	if (r == 0 && view.gone)
		r = error_set(err, -ENODEV, "a device of the mount is gone");
	if (r == 0)
		r = parse_uuid(record->uuid ? record->uuid : "", facts.uuid, err);
	if (r == 0)
		r = parse_digest(record->digest ? record->digest : "", facts.digest, err);
	if (r < 0)
		return r;
	snprintf(facts.label, sizeof(facts.label), "%s", record->label);
	facts.sequence = record->sequence;
	*ret = facts;
	return 0;
}

static int health_of_daemon(const char *mount, struct dsfs_version_facts *ret)
{
	auto_close int control = -1;
	int r = dotfile_open(mount, DSFS_CONTROL_CONTROL, &control, NULL);

	return r == 0 && ioctl(control, DSFS_IOC_VERSION, ret) < 0 ? -errno : r;
}

static void health_child(const void *mount, int fd)
{
	struct health_answer answer = { 0 };
	struct occupied_view view;
	struct statx info;
	dev_t device;

	/* DONT_SYNC: the kernel answers, even if the daemon is dead. */
	if (statx(AT_FDCWD, mount, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &info) < 0) {
		answer.code = -errno;
	} else {
		device = makedev(info.stx_dev_major, info.stx_dev_minor);
		answer.code = occupied_by_kernel(device, &view) ?
				      health_of_kernel(mount, device, &answer.facts, &answer.why) :
				      health_of_daemon(mount, &answer.facts);
	}
	(void)!write(fd, &answer, sizeof(answer));
}

/* ---- in its parent ---- */

static void health_judge(struct health *health, const struct health_answer *answer)
{
	health->facts = answer->facts;
	health->facts.label[sizeof(health->facts.label) - 1] = 0;
	if (answer->code == -ENOTCONN || answer->code == -ECONNABORTED)
		health->code = error_set(&health->reason, -ENOTCONN, "the daemon of the mount is gone");
	else if (answer->code == -ENODEV)
		health->code = error_pass(&health->reason, -ENOTCONN, &answer->why);
	else if (answer->code < 0)
		health->code = error_set(&health->reason, answer->code, "the mount does not tell its version: %.400s",
					 *answer->why.reason ? answer->why.reason : strerror(-answer->code));
}

static void health_end(struct health *health)
{
	child_kill(&health->child, 0); /* nobody waits for one that hangs */
	health->is_answered = true;
}

static void health_take(struct health *health)
{
	struct health_answer answer;

	if (recv(health->child.fd, &answer, sizeof(answer), MSG_DONTWAIT) == (ssize_t)sizeof(answer))
		health_judge(health, &answer);
	else
		health->code = error_set(&health->reason, -EIO, "the process that looks at the mount ended");
	health_end(health);
}

static void health_give_up(struct health *health, int patience)
{
	health->code = error_set(&health->reason, -ETIMEDOUT, "the mount does not answer within %d s",
				 patience / 1000);
	health_end(health);
}

static void health_begin(struct health *health)
{
	health->code = child_start(&health->child, health_child, health->mount, &health->reason);
	health->is_answered = health->code < 0;
}

/* Waits for answers, and takes them. A signal ends the wait early. */
static void health_wait(struct health *all, struct pollfd *fds, size_t count, int timeout)
{
	for (size_t i = 0; i < count; i++)
		fds[i] = (struct pollfd){ .fd = all[i].is_answered ? -1 : all[i].child.fd, .events = POLLIN };
	if (poll(fds, count, timeout) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (fds[i].fd >= 0 && fds[i].revents)
			health_take(&all[i]);
}

static bool health_is_complete(const struct health *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!all[i].is_answered)
			return false;
	return true;
}

static bool health_is_enough(const struct health *all, size_t count, health_enough *enough, const void *argument)
{
	for (size_t i = 0; enough && i < count; i++)
		if (all[i].is_answered && enough(argument, &all[i]))
			return true;
	return false;
}

void health_ask_all(struct health *all, size_t count, health_enough *enough, const void *argument)
{
	int patience = step_number("DATASETFS_ATTACH_PATIENCE", HEALTH_PATIENCE);
	int64_t until = clock_now() + patience * INT64_C(1000000), left;
	auto_free struct pollfd *fds = calloc(count + 1, sizeof(*fds));

	for (size_t i = 0; i < count; i++)
		all[i].child = CHILD_NONE;
	for (size_t i = 0; fds && i < count; i++)
		health_begin(&all[i]);
	while (fds && (left = until - clock_now()) > 0 && !health_is_complete(all, count) &&
	       !health_is_enough(all, count, enough, argument))
		health_wait(all, fds, count, (int)(left / 1000000) + 1);
	for (size_t i = 0; i < count; i++)
		if (!all[i].is_answered)
			health_give_up(&all[i], patience);
}

int health_ask(const char *mount, struct dsfs_version_facts *ret, struct error *err)
{
	struct health health = { .mount = mount };

	health_ask_all(&health, 1, NULL, NULL);
	if (health.code < 0)
		return error_pass(err, health.code, &health.reason);
	*ret = health.facts;
	return 0;
}
