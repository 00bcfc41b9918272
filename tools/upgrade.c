/* SPDX-License-Identifier: MIT */
/* datasetfsctl upgrade: has mounts go on with the program that is installed now, with an ioctl on the control file. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/program/child.h"
#include "control.h"
#include "datasetfs/control.h"
#include "mounts/mounted.h"
#include "text.h"
#include "verb.h"

#define UPGRADE_PATIENCE 60000 /* ms for the answer of one of all mounts, as any user's may hang */

struct upgrade_options {
	struct verb_options verb;
	bool all;
};

static const struct option_spec upgrade_table[] = {
	{ "all", 0, NULL, OPTION_TRUE(struct upgrade_options, all), "upgrade each mount that runs an older program" },
	{ 0 },
};

const struct command_line upgrade_line = {
	.program = "datasetfsctl upgrade",
	.usage = "MNT | --all",
	.operands = { 0, 1 },
	.summary = "Go on with the installed program.",
	.options = upgrade_table,
};

static int upgrade_mount(const char *mount, struct dsfs_upgrade *command, struct error *err)
{
	auto_close int fd = -1;
	int r = control_open(mount, "it has no program", &fd, err);

	if (r < 0)
		return r;
	return ioctl(fd, DSFS_IOC_UPGRADE, command) == 0 ? 0 : control_failed(command->reason, err);
}

static int upgrade_one(const char *mount)
{
	struct dsfs_upgrade command = { 0 };
	struct error err = { 0 };

	if (upgrade_mount(mount, &command, &err) < 0) {
		log_error(&err, "cannot upgrade '%s'", mount);
		return VERB_FAILED;
	}
	text_print("'%s' goes on with the installed program\n", mount);
	return VERB_DONE;
}

/* ---- all ---- */

struct upgrade_answer {
	uint32_t upgraded;
	struct error why;
};

struct upgrade_points {
	char **list;
	size_t count;
};

static int upgrade_see(void *argument, const struct mounted *mounted, struct error *err)
{
	struct upgrade_points *points = argument;
	int r;

	if (mounted->label)
		return 0;
	r = grow_one(points->list, points->count, err);
	if (r < 0)
		return r;
	points->list[points->count] = strdup(mounted->point);
	return points->list[points->count++] ? 0 : error_no_memory(err);
}

static void upgrade_child(const void *argument, int fd)
{
	struct dsfs_upgrade command = { .flags = DSFS_UPGRADE_IF_OTHER };
	struct upgrade_answer answer = { 0 };

	(void)!upgrade_mount(argument, &command, &answer.why);
	answer.upgraded = command.upgraded;
	(void)!write(fd, &answer, sizeof(answer));
}

static int upgrade_ask(const char *point, struct upgrade_answer *ret, struct error *err)
{
	struct child child = CHILD_NONE;
	struct pollfd fd;
	int r = child_start(&child, upgrade_child, point, err);

	if (r < 0)
		return r;
	fd = (struct pollfd){ child.fd, POLLIN, 0 };
	while ((r = poll(&fd, 1, UPGRADE_PATIENCE)) < 0 && errno == EINTR)
		continue;
	if (r <= 0 || read(child.fd, ret, sizeof(*ret)) != sizeof(*ret))
		r = error_set(err, -ETIMEDOUT, "no answer for %d s", UPGRADE_PATIENCE / 1000);
	else
		r = ret->why.code < 0 ? error_pass(err, ret->why.code, &ret->why) : 0;
	child_kill(&child, 0);
	return r;
}

/* One that fails does not keep the others from it. */
static int upgrade_each(const struct upgrade_points *points)
{
	struct upgrade_answer answer;
	int status = VERB_DONE;
	size_t upgraded = 0;
	struct error err;

	for (size_t i = 0; i < points->count; i++) {
		error_clear(&err);
		if (upgrade_ask(points->list[i], &answer, &err) < 0) {
			log_error(&err, "cannot upgrade '%s'", points->list[i]);
			status = VERB_FAILED;
		} else if (answer.upgraded) {
			text_print("'%s' goes on with the installed program\n", points->list[i]);
			upgraded++;
		}
	}
	if (!upgraded && status == VERB_DONE)
		text_print("no mount here runs an older program than is installed\n");
	return status;
}

static int upgrade_all(void)
{
	struct upgrade_points points = { 0 };
	struct error err = { 0 };
	int status = VERB_FAILED;

	if (mounted_each_once(upgrade_see, &points, &err) < 0)
		log_error(&err, "cannot upgrade mounts");
	else
		status = upgrade_each(&points);
	for (size_t i = 0; i < points.count; i++)
		free(points.list[i]);
	free(points.list);
	return status;
}

int upgrade_run(int argc, char **argv)
{
	struct upgrade_options options = { 0 };
	int operands, status;

	if (!verb_parse(&upgrade_line, argc, argv, &options, &operands, &status))
		return status;
	if (options.all == (operands == 1)) {
		log_err("upgrade: expected either MNT or --all");
		return VERB_USAGE;
	}
	return options.all ? upgrade_all() : upgrade_one(argv[1]);
}
