/* SPDX-License-Identifier: MIT */
/* One step after the other; each that fails leads to UPGRADE_FAILED, and from there to the server that asked. */
#include "supervisor/upgrade.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program/passing.h"
#include "supervisor/ending.h"

#define UPGRADE_MS INT64_C(1000000) /* in ns */

/* ---- the rehearsal ---- */

/* Lets go of the process, which is dead or about to be. */
static void upgrade_drop(struct upgrade *upgrade)
{
	pid_t process = upgrade->trial.process;

	if (process)
		kill(process, SIGKILL);
	server_bury(&upgrade->trial);
	upgrade->trial.process = process; /* until it is reaped */
	fdstore_clear(&upgrade->kept, NULL);
}

static void upgrade_end(struct upgrade *upgrade, enum upgrade_phase phase)
{
	upgrade->phase = phase;
	close_fd(&upgrade->program);
}

static void upgrade_fail(struct upgrade *upgrade)
{
	log_error(&upgrade->why, "the program is not replaced");
	upgrade_end(upgrade, UPGRADE_FAILED);
}

static int upgrade_fill(struct upgrade *upgrade, uint32_t number, struct error *err)
{
	struct outbox *outbox = &upgrade->trial.outbox;
	int r = 0;

	for (size_t i = 0; r == 0 && i < upgrade->kept.count; i++)
		r = outbox_add(outbox, SUPERVISOR_KEPT, 0, upgrade->kept.items[i].name, upgrade->kept.items[i].fd, err);
	if (r == 0)
		r = outbox_add(outbox, SUPERVISOR_TRY, 0, NULL, -1, err);
	return r < 0 ? r : outbox_add(outbox, SUPERVISOR_BEGIN, number, NULL, -1, err);
}

static int upgrade_start(struct upgrade *upgrade, const struct server_setup *servers, uint32_t number,
			 struct error *err)
{
	struct server_setup setup = *servers;
	int r;

	setup.program = upgrade->program;
	setup.dies_with_us = true;
	r = server_start(&upgrade->trial, &setup, err);
	return r < 0 ? r : upgrade_fill(upgrade, number, err);
}

int upgrade_begin(struct upgrade *upgrade, const struct supervisor_message *request, int program,
		  const struct server_setup *servers, const struct fdstore *kept, uint32_t number, int patience,
		  struct error *err)
{
	auto_close int taken = program;
	int r;

	if (upgrade->phase != UPGRADE_NONE)
		return error_set(err, -EBUSY, "another upgrade is under way");
	memcpy(upgrade->name, request->name, sizeof(upgrade->name));
	error_clear(&upgrade->why);
	upgrade->program = take_fd(&taken);
	upgrade->phase = UPGRADE_TRIES;
	upgrade->until = clock_now() + patience * UPGRADE_MS;
	r = fdstore_copy(kept, &upgrade->kept, &upgrade->why);
	if (r == 0)
		r = upgrade_start(upgrade, servers, number, &upgrade->why);
	if (r < 0) {
		upgrade_drop(upgrade);
		upgrade_fail(upgrade);
	}
	return 0;
}

/* It has done its part, and is not needed any more. */
static void upgrade_hear(struct upgrade *upgrade, const struct passing_packet *packet)
{
	struct supervisor_packet heard = { 0 };

	if (packet->length < sizeof(heard.message) || packet->length > sizeof(heard))
		return;
	memcpy(&heard, packet->bytes, packet->length);
	heard.text[sizeof(heard.text) - 1] = 0;
	if (heard.message.kind == SUPERVISOR_PREPARED) {
		upgrade->phase = UPGRADE_PREPARED;
	} else if (heard.message.kind == SUPERVISOR_REFUSED) {
		error_set(&upgrade->why, heard.message.number ? -(int)(heard.message.number & 0xfff) : -EIO,
			  "the new program refuses: %s", heard.text);
		upgrade_fail(upgrade);
	} else {
		return;
	}
	upgrade_drop(upgrade);
}

static void upgrade_receive(struct upgrade *upgrade)
{
	struct server *trial = &upgrade->trial;
	struct passing_packet packet;
	int r = 0;

	while (trial->socket >= 0 && r != -EAGAIN) {
		r = passing_receive(trial->socket, 0, 1, &packet, NULL);
		if (r == 0)
			upgrade_hear(upgrade, &packet);
		else if (r != -EAGAIN && r != -EPROTO)
			close_fd(&trial->socket);
		passing_close(&packet);
	}
}

void upgrade_look(struct upgrade *upgrade)
{
	struct server *trial = &upgrade->trial;

	if (upgrade->phase != UPGRADE_TRIES)
		return;
	if (trial->socket >= 0 && !outbox_is_empty(&trial->outbox))
		(void)!outbox_send(&trial->outbox, trial->socket, NULL);
	upgrade_receive(upgrade);
	if (upgrade->phase != UPGRADE_TRIES || clock_now() < upgrade->until)
		return;
	error_set(&upgrade->why, -ETIMEDOUT, "the new program does not say whether it can go on, it was killed");
	upgrade_drop(upgrade);
	upgrade_fail(upgrade);
}

static void upgrade_lose_trial(struct upgrade *upgrade, int status)
{
	char text[ENDING_TEXT_SIZE];

	if (WIFEXITED(status) && WEXITSTATUS(status) == SERVER_NO_PROGRAM)
		error_set(&upgrade->why, -ENOEXEC, "the new program cannot be executed");
	else
		error_set(&upgrade->why, -EIO, "the new program %s before it was ready", ending_text(status, text));
	upgrade_fail(upgrade);
}

bool upgrade_reap(struct upgrade *upgrade, pid_t process, int status)
{
	if (process != upgrade->trial.process)
		return false;
	upgrade_look(upgrade); /* it may have sent until now */
	upgrade->trial.process = 0;
	upgrade_drop(upgrade);
	if (upgrade->phase == UPGRADE_TRIES)
		upgrade_lose_trial(upgrade, status);
	return true;
}

void upgrade_cancel(struct upgrade *upgrade)
{
	if (upgrade->phase != UPGRADE_TRIES && upgrade->phase != UPGRADE_PREPARED)
		return;
	upgrade_drop(upgrade);
	upgrade_end(upgrade, UPGRADE_NONE);
}

bool upgrade_has_process(const struct upgrade *upgrade)
{
	return upgrade->trial.process;
}

/* ---- servers ---- */

void upgrade_stops(struct upgrade *upgrade, int64_t time)
{
	upgrade->phase = UPGRADE_STOPS;
	upgrade->until = clock_now() + time;
}

static void upgrade_swap(struct upgrade *upgrade, int *program)
{
	int other = *program;

	*program = upgrade->program;
	upgrade->program = other;
}

/* The command of a server that dies in the rehearsal is sent again to the next one, and begins anew. */
void upgrade_lose(struct upgrade *upgrade, int status, int *program)
{
	char text[ENDING_TEXT_SIZE];

	upgrade_cancel(upgrade);
	if (upgrade->phase == UPGRADE_STOPS) {
		upgrade_swap(upgrade, program);
		upgrade->phase = UPGRADE_STARTS;
	} else if (upgrade->phase == UPGRADE_STARTS) {
		upgrade_swap(upgrade, program);
		error_set(&upgrade->why, -EIO, "the new program %s before it served", ending_text(status, text));
		upgrade_fail(upgrade);
	}
}

bool upgrade_ready(struct upgrade *upgrade)
{
	bool is_new = upgrade->phase == UPGRADE_STARTS;

	if (is_new || upgrade->phase == UPGRADE_FAILED)
		upgrade_end(upgrade, UPGRADE_NONE);
	return is_new;
}

int upgrade_tell(struct upgrade *upgrade, struct outbox *outbox, bool is_next, struct error *err)
{
	const struct error *why = &upgrade->why;
	int r;

	if (upgrade->phase != UPGRADE_FAILED && (!is_next || upgrade->phase != UPGRADE_STARTS))
		return 0;
	r = outbox_add(outbox, SUPERVISOR_UPGRADED, (uint32_t)-why->code, upgrade->name, -1, err);
	if (r == 0)
		r = outbox_add_text(outbox, why->reason, err);
	if (!is_next)
		upgrade->phase = UPGRADE_NONE;
	return r;
}

void upgrade_close(struct upgrade *upgrade)
{
	upgrade_drop(upgrade);
	close_fd(&upgrade->program);
}
