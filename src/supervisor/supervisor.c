/* SPDX-License-Identifier: MIT */
/* One loop of poll(2) over the signals, the server's socket, and the death of the server's first thread. */
#include "supervisor/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/notify.h"
#include "base/program/passing.h"
#include "base/program/privileges.h"
#include "base/program/signal.h"
#include "supervisor/dying_servers.h"
#include "supervisor/ending.h"
#include "supervisor/fdstore.h"
#include "supervisor/message.h"
#include "supervisor/oom.h"
#include "supervisor/pauses.h"
#include "supervisor/server.h"
#include "supervisor/upgrade.h"

#define SUPERVISOR_FUSE  "fuse"  /* the mount is there, and a server is needed, while this is kept */
#define SUPERVISOR_ABORT "abort" /* a file to which "1" is written when the mount ends by a failure */
#define SUPERVISOR_STUCK "stuck" /* the same, when a dead server holds requests and does not end */

#define SUPERVISOR_MS      INT64_C(1000000)      /* in ns */
#define SUPERVISOR_GRACE   (20 * SUPERVISOR_MS)  /* for a dead server whose status is not known, to end wholly */
#define SUPERVISOR_STOP_TIME (2000 * SUPERVISOR_MS) /* for a server that is replaced to end */
#define SUPERVISOR_CROWDED 10                    /* ms until descriptors are sent again that the kernel refused */
#define SUPERVISOR_PERIODS 6u                    /* of a server's silence, until it is killed */
#define SUPERVISOR_FAILED  1                     /* exit statuses of datasetfs(8) */
#define SUPERVISOR_SYSTEM  2
#define SUPERVISOR_MOUNT   32

struct supervisor {
	const struct supervisor_setup *setup;
	struct server_setup servers;
	struct wake wake;
	int signals; /* a signalfd */
	struct fdstore kept;
	struct server server;
	struct pauses pauses;
	struct upgrade upgrade;
	uint32_t started;     /* servers */
	int64_t start_at;     /* ns, when there is no server */
	int64_t tick_at;      /* ns, when the period of silence ends */
	int64_t died_at;      /* ns, the last server that served, and its status */
	int last_status;
	bool has_served;      /* the first server was ready */
	bool cannot_start;    /* the last server failed before it served */
	uint64_t signals_due; /* a bit for each signal that no server has acted on yet */
	struct dying_servers dying;
	bool is_killable; /* when memory runs out */
	struct error why_killable;
	bool is_over;
	int status; /* of the program, when it is over */
};

static void supervisor_end(struct supervisor *supervisor, int status)
{
	supervisor->is_over = true;
	supervisor->status = status;
}

/* The connection would go on without a server while one that cannot end has it open. */
static void supervisor_abort(struct supervisor *supervisor, const char *name)
{
	auto_close int file = fdstore_take(&supervisor->kept, name);

	if (file >= 0 && write(file, "1", 1) < 0)
		log_warn("cannot abort the connection: %s, ignoring", strerror(errno));
}

/* ---- starting ---- */

static int supervisor_fill_outbox(struct supervisor *supervisor, struct error *err)
{
	const struct fdstore *kept = &supervisor->kept;
	struct server *server = &supervisor->server;
	int r = 0;

	if (server->page_fd >= 0)
		r = outbox_add(&server->outbox, SUPERVISOR_KEPT, 0, SUPERVISOR_LIFE, server->page_fd, err);
	for (size_t i = 0; r == 0 && i < kept->count; i++)
		r = outbox_add(&server->outbox, SUPERVISOR_KEPT, 0, kept->items[i].name, kept->items[i].fd, err);
	if (r == 0)
		r = upgrade_tell(&supervisor->upgrade, &server->outbox, true, err);
	if (r == 0)
		r = outbox_add(&server->outbox, SUPERVISOR_BEGIN, supervisor->started, NULL, -1, err);
	for (uint32_t i = 1; r == 0 && i < 64; i++)
		if (supervisor->signals_due >> i & 1)
			r = outbox_add(&server->outbox, SUPERVISOR_SIGNAL, i, NULL, -1, err);
	return r;
}

static int supervisor_try_start(struct supervisor *supervisor, struct error *err)
{
	int r = server_start(&supervisor->server, &supervisor->servers, err);

	if (r < 0)
		return r;
	r = supervisor_fill_outbox(supervisor, err);
	supervisor->started++;
	if (r < 0) { /* it is found dead */
		kill(supervisor->server.process, SIGKILL);
		return 0;
	}
	return 0;
}

/* No server could act on the signals that came. */
static void supervisor_give_up(struct supervisor *supervisor)
{
	log_err("no server can start, and a signal asks for the end: the mount ends, umount(8) removes the rest of it");
	supervisor_abort(supervisor, SUPERVISOR_ABORT);
	supervisor_end(supervisor, SUPERVISOR_FAILED);
}

static void supervisor_start(struct supervisor *supervisor)
{
	struct error err = { 0 };

	if (supervisor_try_start(supervisor, &err) == 0)
		return;
	log_error(&err, "cannot start a server");
	supervisor->cannot_start = true;
	if (!fdstore_has(&supervisor->kept, SUPERVISOR_FUSE))
		supervisor_end(supervisor, SUPERVISOR_SYSTEM);
	else if (supervisor->signals_due)
		supervisor_give_up(supervisor);
	else
		supervisor->start_at = clock_now() + pauses_next(&supervisor->pauses, SUPERVISOR_AGAIN << 8, -1);
}

/* Whether the kernel has ended the connection that is kept: the mount is gone. */
static bool supervisor_is_unmounted(const struct supervisor *supervisor)
{
	struct pollfd fd = { .fd = fdstore_look(&supervisor->kept, SUPERVISOR_FUSE) };

	return poll(&fd, 1, 0) > 0 && fd.revents & POLLERR;
}

/* A server that can start ends an unmounted mount in order, so that is left to it. */
static void supervisor_look_at_start(struct supervisor *supervisor)
{
	if (supervisor->server.process)
		return;
	if (supervisor->cannot_start && supervisor_is_unmounted(supervisor)) {
		log_info("the mount was unmounted while no server could start");
		supervisor_end(supervisor, 0);
	} else if (clock_now() >= supervisor->start_at) {
		supervisor_start(supervisor);
	}
}

/* ---- the end of a server ---- */

static void supervisor_end_killed(struct supervisor *supervisor, int status)
{
	char text[ENDING_TEXT_SIZE];

	ending_text(status, text);
	if (supervisor->has_served)
		log_err("the server %s, the mount ends", text);
	else
		log_err("the daemon %s before it was ready", text);
	supervisor_abort(supervisor, SUPERVISOR_ABORT);
	supervisor_end(supervisor, supervisor->has_served ? SUPERVISOR_FAILED : SUPERVISOR_MOUNT);
}

static void supervisor_end_exited(struct supervisor *supervisor, int code)
{
	if (code)
		supervisor_abort(supervisor, SUPERVISOR_ABORT);
	if (code == SERVER_NO_PROGRAM)
		log_err("cannot execute the program again");
	supervisor_end(supervisor, code == SERVER_NO_PROGRAM ? SUPERVISOR_SYSTEM : code);
}

static void supervisor_end_with(struct supervisor *supervisor, int status)
{
	if (ending_is_exit(status))
		supervisor_end_exited(supervisor, WEXITSTATUS(status));
	else
		supervisor_end_killed(supervisor, status);
}

/* Whether a server that is to be replaced failed, and was not killed. A new program may fail: the old one goes on. */
static bool supervisor_has_failed(const struct supervisor *supervisor, int status, int64_t served)
{
	bool is_killed = ending_is_killed_from_outside(status) && supervisor->server.silent < SUPERVISOR_PERIODS;

	return served < 0 && !is_killed && supervisor->upgrade.phase != UPGRADE_STARTS;
}

static void supervisor_start_again(struct supervisor *supervisor, int status, int64_t served)
{
	int64_t now = clock_now(), pause = pauses_next(&supervisor->pauses, status, served);
	char text[ENDING_TEXT_SIZE];

	supervisor->cannot_start = supervisor_has_failed(supervisor, status, served);
	upgrade_lose(&supervisor->upgrade, status, &supervisor->servers.program);
	supervisor->start_at = now + pause;
	if (!supervisor->died_at) {
		supervisor->died_at = now;
		supervisor->last_status = status;
	}
	if (served < 0 && pause)
		log_warn("a server %s before it served, the next one starts in %" PRId64 " ms",
			 ending_text(status, text), pause / SUPERVISOR_MS);
}

/* Whether a server that ended so is replaced. One that refuses its predecessor's record says that the mount ends; any
 * other that never served may have lacked something that the next one finds. */
static bool supervisor_goes_on(const struct supervisor *supervisor, int status, int64_t served, bool said_so)
{
	if (said_so || !fdstore_has(&supervisor->kept, SUPERVISOR_FUSE))
		return false;
	return served < 0 || !ending_is_exit(status) || WEXITSTATUS(status) == SUPERVISOR_AGAIN;
}

static void supervisor_receive(struct supervisor *supervisor);

static void supervisor_lose(struct supervisor *supervisor, int status)
{
	struct server *server = &supervisor->server;
	int64_t served;
	bool said_so;

	supervisor_receive(supervisor); /* it may have sent until now */
	served = server->ready ? clock_now() - server->ready : -1;
	said_so = server->ends;
	server_bury(server);
	if (!supervisor_goes_on(supervisor, status, served, said_so))
		supervisor_end_with(supervisor, status);
	else if (supervisor->signals_due && supervisor_has_failed(supervisor, status, served))
		supervisor_give_up(supervisor);
	else
		supervisor_start_again(supervisor, status, served);
}

/* ---- processes ---- */

static void supervisor_post(struct supervisor *supervisor, enum supervisor_kind kind, uint32_t number)
{
	struct server *server = &supervisor->server;
	struct error err = { 0 };

	if (server->socket < 0 || outbox_has(&server->outbox, kind, number))
		return;
	if (outbox_add(&server->outbox, kind, number, NULL, -1, &err) < 0)
		log_warn("%s, ignoring", err.reason);
}

/* Lets a server go on that waits until the kept descriptors are closed. */
static void supervisor_release(struct supervisor *supervisor)
{
	if (supervisor->server.ends && !upgrade_has_process(&supervisor->upgrade))
		close_fd(&supervisor->server.socket);
}

static void supervisor_reap(struct supervisor *supervisor)
{
	pid_t process;
	int status;

	while ((process = waitpid(-1, &status, WNOHANG)) > 0) {
		if (process == supervisor->server.process)
			supervisor_lose(supervisor, status);
		else if (dying_servers_end(&supervisor->dying, process))
			supervisor_post(supervisor, SUPERVISOR_GONE, (uint32_t)process);
		else if (upgrade_reap(&supervisor->upgrade, process, status))
			supervisor_release(supervisor);
	}
}

/* Replaces a server that has not ended wholly. */
static void supervisor_leave(struct supervisor *supervisor, int status)
{
	pid_t process = supervisor->server.process;
	struct error err = { 0 };

	if (dying_servers_add(&supervisor->dying, process, server_holds_requests(&supervisor->server), &err) < 0)
		log_warn("%s, ignoring", err.reason);
	supervisor_lose(supervisor, status);
}

/* Kills the server and keeps track of threads that cannot die. */
static void supervisor_leave_killed(struct supervisor *supervisor, int status)
{
	kill(supervisor->server.process, SIGKILL);
	supervisor_leave(supervisor, status);
}

static int supervisor_patience(const struct supervisor *supervisor)
{
	return supervisor->setup->patience ? supervisor->setup->patience : SUPERVISOR_PATIENCE;
}

/* A server that crashes may first have its memory written to a core file, which readers do not wait for: by then all
 * its threads have stopped. But where no other server gets its requests before it has ended, it has to end. Its status
 * is known as soon as it dumps, not before. */
static void supervisor_look_at_crash(struct supervisor *supervisor, int number)
{
	int64_t patience = supervisor_patience(supervisor) * SUPERVISOR_MS;
	const struct server *server = &supervisor->server;
	int status = ending_of(server->process);

	if (ending_is_dumping(server->process) && !fdstore_has(&supervisor->kept, SUPERVISOR_STUCK))
		supervisor_leave(supervisor, number);
	else if (status != ENDING_UNKNOWN)
		supervisor_leave_killed(supervisor, status);
	else if (clock_now() - server->dead >= patience)
		supervisor_leave_killed(supervisor, number);
}

/* Looks whether the first thread has ended although the process has not. One that has said that it ends, or exits with
 * 0, as it seems, gets time to do so. */
static void supervisor_look_at_life(struct supervisor *supervisor)
{
	struct server *server = &supervisor->server;
	int status;

	if (!server->process || !server_is_dead(server))
		return;
	if (!server->dead)
		server->dead = clock_now();
	if (server_crash(server)) {
		supervisor_look_at_crash(supervisor, server_crash(server));
		return;
	}
	status = ending_of(server->process);
	if (status != ENDING_UNKNOWN || (!server->ends && clock_now() - server->dead >= SUPERVISOR_GRACE))
		supervisor_leave_killed(supervisor, status);
}

static int64_t supervisor_period(const struct supervisor *supervisor)
{
	return supervisor_patience(supervisor) * SUPERVISOR_MS / SUPERVISOR_PERIODS;
}

/* Where the kernel sends nothing again, a dead server's requests end when its last thread has: when the device answers,
 * or never, if that thread waits for one of these very requests. */
static void supervisor_look_at_stuck(struct supervisor *supervisor)
{
	const struct dying_server *one =
		dying_servers_stay(&supervisor->dying, supervisor_period(supervisor), clock_now());

	if (!one)
		return;
	if (one->holds_requests) {
		log_err("a dead server cannot end, and its requests would wait for ever: the mount ends");
		supervisor_abort(supervisor, SUPERVISOR_STUCK);
	} else {
		log_warn("a dead server, process %d, waits for a device, and with it the requests that it had in hand",
			 (int)one->process);
	}
}

/* The present server also learns of a process with only sleeping threads left, perhaps for ever: their requests are
 * free. A later server has the kernel send them again anyway. */
static void supervisor_look_at_dying(struct supervisor *supervisor)
{
	pid_t process;

	while ((process = dying_servers_look(&supervisor->dying, clock_now())))
		supervisor_post(supervisor, SUPERVISOR_GONE, (uint32_t)process);
	if (fdstore_has(&supervisor->kept, SUPERVISOR_STUCK))
		supervisor_look_at_stuck(supervisor);
}

/* ---- messages ---- */

static void supervisor_put(struct supervisor *supervisor, const char *name, struct passing_packet *packet)
{
	struct error err = { 0 };

	if (packet->fd_count && fdstore_put(&supervisor->kept, name, take_fd(&packet->fds[0]), &err) < 0)
		log_warn("'%s' is not kept: %s, ignoring", name, err.reason);
}

static void supervisor_drop(struct supervisor *supervisor, const char *name)
{
	auto_close int fd = fdstore_take(&supervisor->kept, name);

	(void)fd;
}

/* No user but root may be exempt. */
static void supervisor_warn(const struct supervisor *supervisor)
{
	if (supervisor->is_killable && geteuid() == 0)
		log_warn("the kernel may kill the supervisor when memory runs out, and the mount with it: %s",
			 supervisor->why_killable.reason);
}

static void supervisor_ready(struct supervisor *supervisor)
{
	const struct supervisor_setup *setup = supervisor->setup;
	char text[ENDING_TEXT_SIZE];

	if (supervisor->server.ready)
		return;
	supervisor->server.ready = clock_now();
	if (!supervisor->has_served) {
		supervisor->has_served = true;
		supervisor_warn(supervisor);
		if (setup->ready)
			setup->ready(setup->argument);
	}
	if (upgrade_ready(&supervisor->upgrade))
		log_info("a server of the new program serves after %" PRId64 " ms, restarts=%" PRIu32,
			 (supervisor->server.ready - supervisor->died_at) / SUPERVISOR_MS, supervisor->started - 1);
	else if (supervisor->died_at)
		log_warn("the server %s, another one serves after %" PRId64 " ms, restarts=%" PRIu32,
			 ending_text(supervisor->last_status, text),
			 (supervisor->server.ready - supervisor->died_at) / SUPERVISOR_MS, supervisor->started - 1);
	supervisor->died_at = 0;
}

/* The server waits until its socket ends before it says goodbye, as kept descriptors may keep a filesystem in use. */
static void supervisor_let_end(struct supervisor *supervisor)
{
	if (supervisor->upgrade.phase == UPGRADE_STARTS) { /* for the old program the mount has not ended */
		close_fd(&supervisor->server.socket);
		return;
	}
	supervisor->server.ends = true;
	fdstore_clear(&supervisor->kept, SUPERVISOR_ABORT);
	upgrade_cancel(&supervisor->upgrade);
	supervisor_release(supervisor);
}

static void supervisor_upgrade(struct supervisor *supervisor, const struct supervisor_message *message,
			       struct passing_packet *packet)
{
	struct outbox *outbox = &supervisor->server.outbox;
	struct error err = { 0 };
	int r;

	if (!packet->fd_count)
		return;
	supervisor_ready(supervisor); /* another thread of it is about to say so */
	r = upgrade_begin(&supervisor->upgrade, message, take_fd(&packet->fds[0]), &supervisor->servers,
			  &supervisor->kept, supervisor->started, supervisor_patience(supervisor), &err);
	if (r < 0)
		r = outbox_add(outbox, SUPERVISOR_UPGRADED, (uint32_t)-r, message->name, -1, &err) < 0 ? -ENOMEM :
		    outbox_add_text(outbox, err.reason, &err);
	if (r < 0)
		log_warn("%s, ignoring", err.reason);
}

static void supervisor_take(struct supervisor *supervisor, struct passing_packet *packet)
{
	struct supervisor_message message;

	if (packet->length < sizeof(message))
		return;
	memcpy(&message, packet->bytes, sizeof(message));
	message.name[sizeof(message.name) - 1] = 0;
	supervisor->server.silent = 0;
	switch (message.kind) {
	case SUPERVISOR_PUT:
		supervisor_put(supervisor, message.name, packet);
		break;
	case SUPERVISOR_DROP:
		supervisor_drop(supervisor, message.name);
		break;
	case SUPERVISOR_READY:
		supervisor_ready(supervisor);
		break;
	case SUPERVISOR_HEARD:
		supervisor->signals_due &= ~(UINT64_C(1) << message.number % 64);
		break;
	case SUPERVISOR_BEAT:
		notify_send("WATCHDOG=1");
		break;
	case SUPERVISOR_END:
		supervisor_let_end(supervisor);
		break;
	case SUPERVISOR_UPGRADE:
		supervisor_upgrade(supervisor, &message, packet);
		break;
	}
}

static void supervisor_receive(struct supervisor *supervisor)
{
	struct server *server = &supervisor->server;
	struct passing_packet packet;
	struct error err = { 0 };
	int r = 0;

	for (unsigned i = 0; server->socket >= 0 && r != -EAGAIN && i < FDSTORE_MAX; i++) {
		r = passing_receive(server->socket, 0, 1, &packet, &err);
		if (r == 0)
			supervisor_take(supervisor, &packet);
		else if (r == -EPROTO)
			log_warn("a message of the server is lost: %s, ignoring", err.reason);
		else if (r != -EAGAIN)
			close_fd(&server->socket); /* it has ended */
		passing_close(&packet);
	}
}

static void supervisor_send(struct supervisor *supervisor)
{
	struct server *server = &supervisor->server;
	int r;

	if (server->socket < 0 || outbox_is_empty(&server->outbox))
		return;
	r = outbox_send(&server->outbox, server->socket, NULL);
	server->begun = server->begun || r != -EAGAIN;
}

static void supervisor_take_signals(struct supervisor *supervisor)
{
	struct signalfd_siginfo signal;

	while (read(supervisor->signals, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGCHLD)
			continue;
		supervisor->signals_due |= UINT64_C(1) << signal.ssi_signo;
		if (supervisor->server.process)
			supervisor_post(supervisor, SUPERVISOR_SIGNAL, signal.ssi_signo);
		else if (supervisor->cannot_start) /* the last attempt, if that fails */
			supervisor->start_at = clock_now();
	}
}

/* ---- silence ---- */

/* The first server may take as long as its devices until it serves; the next ones read none. */
static bool supervisor_expects_beats(const struct supervisor *supervisor)
{
	return supervisor->server.process && supervisor->has_served;
}

/* Counts periods instead of the time since the last message, as all processes may have been frozen together. */
static void supervisor_look_at_silence(struct supervisor *supervisor)
{
	struct server *server = &supervisor->server;
	int64_t now = clock_now();

	if (now < supervisor->tick_at)
		return;
	supervisor->tick_at = now + supervisor_period(supervisor);
	if (!supervisor_expects_beats(supervisor))
		return;
	server->silent++;
	if (server->silent == SUPERVISOR_PERIODS && server->ends && server->dead) { /* it exited with 0 */
		log_warn("threads of process %d, which served the mount, wait for a device and end later",
			 (int)server->process);
		supervisor_leave(supervisor, 0);
	} else if (server->silent == SUPERVISOR_PERIODS) {
		log_err("the server does not respond, it is killed");
		kill(server->process, SIGKILL);
	} else if (server->silent > SUPERVISOR_PERIODS) { /* its first thread cannot end */
		supervisor_leave_killed(supervisor, SIGKILL);
	}
}

/* ---- upgrades ---- */

static void supervisor_look_at_upgrade(struct supervisor *supervisor)
{
	struct upgrade *upgrade = &supervisor->upgrade;
	struct server *server = &supervisor->server;
	struct error err = { 0 };

	upgrade_look(upgrade);
	if (!server->process)
		return;
	if (upgrade->phase == UPGRADE_PREPARED) {
		supervisor_post(supervisor, SUPERVISOR_STOP, 0);
		upgrade_stops(upgrade, SUPERVISOR_STOP_TIME);
	} else if (upgrade->phase == UPGRADE_STOPS && clock_now() >= upgrade->until) {
		kill(server->process, SIGKILL);
		upgrade->until = INT64_MAX;
	} else if (server->ready && upgrade_tell(upgrade, &server->outbox, false, &err) < 0) {
		log_warn("%s, ignoring", err.reason);
	}
}

/* ---- the loop ---- */

static int64_t supervisor_earlier(int64_t time, int64_t other)
{
	return other < time ? other : time;
}

/* When to look again at a server that is dead, and has not ended: its core file is begun within moments. */
static int64_t supervisor_look_again(const struct server *server, int64_t now)
{
	if (server_crash(server))
		return now + (now - server->dead < SUPERVISOR_GRACE ? SUPERVISOR_MS : SUPERVISOR_GRACE);
	return server->ends ? INT64_MAX : server->dead + SUPERVISOR_GRACE;
}

/* Returns a timeout for poll(2). */
static int supervisor_timeout(const struct supervisor *supervisor)
{
	const struct server *server = &supervisor->server;
	int64_t now = clock_now(), until = INT64_MAX;

	if (!server->process)
		until = supervisor->start_at;
	if (server->dead)
		until = supervisor_earlier(until, supervisor_look_again(server, now));
	until = supervisor_earlier(until, dying_servers_next(&supervisor->dying));
	if (server->outbox.is_crowded || supervisor->upgrade.trial.outbox.is_crowded)
		until = supervisor_earlier(until, now + SUPERVISOR_CROWDED);
	if (supervisor_expects_beats(supervisor))
		until = supervisor_earlier(until, supervisor->tick_at);
	if (supervisor->upgrade.phase == UPGRADE_TRIES || supervisor->upgrade.phase == UPGRADE_STOPS)
		until = supervisor_earlier(until, supervisor->upgrade.until);
	if (until == INT64_MAX)
		return -1;
	return until <= now ? 0 : (int)((until - now + SUPERVISOR_MS - 1) / SUPERVISOR_MS);
}

static short supervisor_waits_for_room(const struct server *server)
{
	return outbox_is_empty(&server->outbox) || server->outbox.is_crowded ? 0 : POLLOUT;
}

/* The connection, for which poll(2) reports only its end; -1: a server would notice it. */
static int supervisor_awaited_end(const struct supervisor *supervisor)
{
	bool waits = !supervisor->server.process && supervisor->cannot_start;

	return waits ? fdstore_look(&supervisor->kept, SUPERVISOR_FUSE) : -1;
}

static void supervisor_wait(const struct supervisor *supervisor)
{
	const struct server *server = &supervisor->server;
	const struct server *trial = &supervisor->upgrade.trial;
	struct pollfd fds[] = {
		{ supervisor->signals, POLLIN, 0 },
		{ supervisor->wake.fd, POLLIN, 0 },
		{ server->socket, (server->begun ? POLLIN : 0) | supervisor_waits_for_room(server), 0 },
		{ trial->socket, POLLIN | supervisor_waits_for_room(trial), 0 },
		{ supervisor_awaited_end(supervisor), 0, 0 },
	};

	poll(fds, sizeof(fds) / sizeof(fds[0]), supervisor_timeout(supervisor));
}

static void supervisor_turn(struct supervisor *supervisor)
{
	supervisor_send(supervisor);
	supervisor_wait(supervisor);
	wake_take(&supervisor->wake);
	if (supervisor->server.begun)
		supervisor_receive(supervisor);
	supervisor_take_signals(supervisor);
	supervisor_reap(supervisor);
	if (!supervisor->is_over)
		supervisor_look_at_upgrade(supervisor);
	if (!supervisor->is_over)
		supervisor_look_at_life(supervisor);
	if (!supervisor->is_over)
		supervisor_look_at_silence(supervisor);
	if (!supervisor->is_over)
		supervisor_look_at_start(supervisor);
	supervisor_look_at_dying(supervisor);
}

/* ---- the program ---- */

/* SIGHUP is left out if it is ignored, as under nohup(1): blocked, it would be delivered. */
static void supervisor_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGQUIT);
	sigaddset(ret, SIGCHLD);
	if (!signal_is_ignored(SIGHUP))
		sigaddset(ret, SIGHUP);
}

/* Servers block none of these signals, whatever the caller did. */
static void supervisor_block_signals(sigset_t *ret_signals, sigset_t *ret_before)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* ignored, a server could not be waited for */
	signal_ignore_size_limit();
	supervisor_signals(ret_signals);
	sigprocmask(SIG_BLOCK, ret_signals, ret_before);
	for (int i = 1; i < 64; i++)
		if (sigismember(ret_signals, i) == 1)
			sigdelset(ret_before, i);
}

static int supervisor_open(struct supervisor *supervisor, struct error *err)
{
	sigset_t signals;
	int r;

	supervisor->servers.program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (supervisor->servers.program < 0)
		return error_errno(err, "cannot open /proc/self/exe");
	supervisor_block_signals(&signals, &supervisor->servers.signals);
	supervisor->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (supervisor->signals < 0)
		return error_errno(err, "cannot wait for signals");
	r = wake_open(&supervisor->wake, err);
	if (r < 0)
		return r;
	descriptors_raise_limit();
	supervisor->is_killable = oom_exempt(&supervisor->servers.oom, &supervisor->why_killable) < 0;
	privileges_drop();
	return 0;
}

static void supervisor_close(struct supervisor *supervisor)
{
	fdstore_clear(&supervisor->kept, NULL);
	dying_servers_free(&supervisor->dying);
	upgrade_close(&supervisor->upgrade);
	close_fd(&supervisor->servers.program);
	close_fd(&supervisor->signals);
	wake_close(&supervisor->wake);
}

int supervisor_run(const struct supervisor_setup *setup)
{
	struct supervisor supervisor = { .setup = setup, .servers = { .program = -1, .argv = setup->argv },
					 .signals = -1, .wake.fd = -1, .server = { .socket = -1, .page_fd = -1 },
					 .upgrade = { .program = -1, .trial = { .socket = -1, .page_fd = -1 } } };
	struct error err = { 0 };

	supervisor.servers.wake = &supervisor.wake;
	if (supervisor_open(&supervisor, &err) < 0) {
		log_error(&err, "cannot keep a mount");
		supervisor_end(&supervisor, SUPERVISOR_SYSTEM);
	} else {
		supervisor_start(&supervisor);
	}
	while (!supervisor.is_over)
		supervisor_turn(&supervisor);
	supervisor_close(&supervisor);
	return supervisor.status;
}
