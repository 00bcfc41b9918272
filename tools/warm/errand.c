/* SPDX-License-Identifier: MIT */
/* Opens the control file for each command: nothing keeps the mount busy in between, so it can be unmounted. */
#include "warm/errand.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program/interrupt.h"
#include "control.h"

#define ERRAND_LOOK   INT64_C(100000000) /* ns between two looks */
#define ERRAND_END    100u               /* of these until a job that was stopped must have ended */
#define ERRAND_TRIES  3u                 /* servers that may be replaced meanwhile */
#define ERRAND_ADVICE "it keeps no contents on this machine"

bool errand_has_ended(const struct errand *errand)
{
	return errand->answer.state >= DSFS_WARM_DONE;
}

/* ---- commands ---- */

/* Any user can mount a filesystem that calls itself datasetfs, and answer anything. */
static int errand_check(struct dsfs_warm *answer, struct error *err)
{
	answer->label[sizeof(answer->label) - 1] = answer->reason[sizeof(answer->reason) - 1] = 0;
	if (answer->state <= DSFS_WARM_FAILED)
		return 0;
	return error_set(err, -EPROTO, "the daemon of this mount answers with state %u, expected %u at most",
			 answer->state, DSFS_WARM_FAILED);
}

/* A server that was replaced has taken the job with it, and with channel=ring the requests that it had in hand. */
static int errand_ask(struct errand *errand, struct dsfs_warm *command, struct error *err)
{
	auto_close int fd = -1;
	int r = control_open(errand->mount, ERRAND_ADVICE, &fd, err);

	errand->is_lost = (r == -ENOTCONN || r == -ECONNABORTED) && errand->job;
	if (r < 0)
		return errand->job ? error_wrap(err, r, "the mount is gone") : r;
	command->job = errand->job;
	command->sequence = errand->sequence;
	r = ioctl(fd, DSFS_IOC_WARM, command) < 0 ? control_failed(command->reason, err) : errand_check(command, err);
	errand->is_lost = r == -ENOENT || r == -ECONNABORTED || r == -ENOTCONN;
	if (r < 0)
		return r;
	errand->job = command->job;
	errand->sequence = command->sequence;
	errand->answer = *command;
	return 0;
}

static int errand_send(struct errand *errand, struct error *err)
{
	struct dsfs_warm command;
	size_t sent = 0, left;
	int r = 0;

	do {
		left = errand->list->count - sent;
		command = (struct dsfs_warm){ .count = (uint32_t)(left < DSFS_WARM_MOST ? left : DSFS_WARM_MOST) };
		memcpy(command.files, errand->list->numbers + sent, command.count * sizeof(command.files[0]));
		sent += command.count;
		command.flags = sent == errand->list->count ? DSFS_WARM_GO : 0;
		r = errand_ask(errand, &command, err);
	} while (r == 0 && sent < errand->list->count);
	return r;
}

static int errand_look(struct errand *errand, uint32_t flags, struct error *err)
{
	struct dsfs_warm command = { .flags = flags };

	return errand_ask(errand, &command, err);
}

/* ---- the job ---- */

static void errand_show(struct errand *errand, const struct dsfs_warm *before)
{
	const struct dsfs_warm *now = &errand->answer;

	if (now->state == DSFS_WARM_READS && !errand->is_shown) {
		progress_phase(errand->progress, "warming", now->to_read.bytes);
		errand->is_shown = true;
	}
	if (errand->is_shown && now->job == before->job)
		progress_add(errand->progress, now->read.files - before->read.files,
			     now->read.bytes - before->read.bytes);
}

static int errand_follow(struct errand *errand, struct error *err)
{
	struct dsfs_warm before;
	int r = 0;

	while (r == 0 && !errand_has_ended(errand)) {
		before = errand->answer;
		r = interrupt_poll(NULL, 0, ERRAND_LOOK, err);
		if (r == 0)
			r = errand_look(errand, 0, err);
		if (r == 0)
			errand_show(errand, &before);
	}
	return r;
}

/* A volume that hangs may keep the job from ending. */
static void errand_stop(struct errand *errand)
{
	uint32_t flags = DSFS_WARM_STOP;

	for (unsigned i = 0; i < ERRAND_END && !errand_has_ended(errand); i++) {
		if (errand_look(errand, flags, NULL) < 0)
			return;
		flags = 0;
		if (!errand_has_ended(errand))
			clock_sleep(ERRAND_LOOK);
	}
}

int errand_run(struct errand *errand, struct error *err)
{
	int r;

	for (unsigned i = 0;; i++) {
		errand->job = 0;
		r = errand_send(errand, err);
		if (r == 0)
			r = errand_follow(errand, err);
		if (r == -EINTR && errand->job)
			errand_stop(errand);
		if (r == 0 || !errand->is_lost || (i == ERRAND_TRIES && r != -ENOENT))
			return r;
		if (i == ERRAND_TRIES)
			return error_set(err, r, "the server of the mount was replaced %u times meanwhile", i + 1);
		clock_sleep(ERRAND_LOOK);
	}
}
