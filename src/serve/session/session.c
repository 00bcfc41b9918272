/* SPDX-License-Identifier: MIT */
/* Starts and ends the parts of a mount in the order in which they need each other. */
#include "serve/session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program/notify.h"
#include "base/program/privileges.h"
#include "base/program/signal.h"
#include "base/program/step.h"
#include "base/program/subordinate.h"
#include "base/text/format.h"
#include "device/locate.h"
#include "device/occupied.h"
#include "fuse/init.h"
#include "fuse/mount.h"
#include "fuse/resend.h"
#include "serve/cache/cache_folder.h"
#include "serve/cache/cached_chunks.h"
#include "serve/cache/warmer.h"
#include "serve/clients/clients.h"
#include "serve/control/control.h"
#include "serve/control/prune.h"
#include "serve/control/upgrade.h"
#include "serve/damage.h"
#include "serve/dotdir/snapshots.h"
#include "serve/dotdir/texts.h"
#include "serve/dotdir/visits.h"
#include "serve/health/watchdog.h"
#include "serve/opening/open.h"
#include "serve/readahead/ahead.h"
#include "serve/readahead/announced.h"
#include "serve/readahead/fetchers.h"
#include "serve/recovery/recovery.h"
#include "serve/serve.h"
#include "serve/session/machine.h"
#include "serve/session/resume.h"
#include "serve/session/takeover.h"
#include "serve/session/volume.h"
#include "serve/session/workers.h"
#include "serve/successor/successor.h"
#include "serve/worker/worker.h"
#include "supervisor/keep.h"

#define SESSION_LEAVE INT64_C(1000000000) /* ns in which a server that is replaced answers its open requests */
#define SESSION_CLEARS INT64_C(3000000000) /* ns until each thread of a server that was killed has ended or sleeps */
#define SESSION_LOOK 1000 /* ms between two checks for the end of the mount when workers may not notice it */
#define SESSION_BEAT 5000 /* ms between two signs of life for the supervisor, or for systemd if there is none */

struct session {
	struct serve serve;
	struct mount *mount;
	bool unmounted; /* it was unmounted, and all workers ended because of that */
	bool detached;  /* it was detached lazily, and ends with its last user */
	bool is_left;   /* a signal ended the service of a mount that another program has to unmount */
	bool was_busy;  /* a signal could not unmount it, as it was in use */
	int64_t clears_at; /* when what only former servers used is dropped, ns; 0: it was */
	int64_t leaves_by; /* when the process must have ended, as another program is to go on, ns; 0: not */
	int signal_fd;
	struct init init;
	struct workers workers;
};

/* ---- the volume and its version ---- */

static int session_open_version(struct serve *serve, struct error *err)
{
	const struct mount_options *options = &serve->options;
	const struct open_target target = { .label = options->version, .is_selection = true,
					    .digest = options->has_digest ? options->digest : NULL };
	struct generation *generation;
	int r = open_version(serve, &target, &generation, err);

	if (r < 0)
		return r;
	atomic_store(&serve->recovery->current, generation->key);
	atomic_store(&serve->generations.current, generation);
	atomic_store(&serve->generations.announced, generation);
	atomic_store(&serve->history.serving_since, (uint64_t)time(NULL));
	return 0;
}

/* ---- coming up ---- */

static int session_mount(struct session *session, struct error *err)
{
	const struct mount_options *options = &session->serve.options;
	struct mount_setup setup = { .allow_other = options->allow_other,
				     .noexec = options->noexec,
				     .suid = options->suid,
				     .nosymfollow = options->nosymfollow,
				     .selinux = &options->selinux };
	struct init *init = &session->init;
	struct init_wishes wishes;
	auto_free char *source = NULL;
	int r;

	setup.source = source = occupied_source(options->volume, options->version);
	if (!source)
		return error_no_memory(err);
	if (options->is_given)
		r = mount_take(options->mountpoint, source, options->given, &session->mount, err);
	else
		r = occupied_check(options->mountpoint, NULL, err);
	if (r == 0 && !options->is_given)
		r = mount_open(options->mountpoint, &setup, &session->mount, err);
	if (r < 0)
		return r;
	wishes = (struct init_wishes){ .ring = session->serve.machine.ring, .idmap = options->idmap };
	r = init_negotiate(mount_fd(session->mount), wishes, init, err);
	if (r < 0)
		return r;
	if (options->idmap && !(init->taken & WIRE_ALLOW_IDMAP))
		log_info("the kernel has no idmapped mounts of FUSE (Linux 6.12), ignoring the mount option 'idmap'");
	log_debug("FUSE 7.%u, offered=%#" PRIx64 " taken=%#" PRIx64, init->minor, init->offered, init->taken);
	return session->serve.machine.ring == init->ring ? 0 : machine_lose_ring(&session->serve, err);
}

/* Does once the things that are possible only while requests are answered. */
static void session_settle_mount(struct session *session)
{
	const struct serve *serve = &session->serve;
	struct error why = { 0 };
	struct mount_kept kept;

	if (geteuid() == 0 && mount_device(session->mount) &&
	    init_raise_readahead(mount_device(session->mount), &why) < 0)
		log_warn("read-ahead stays at the kernel's default: %s, ignoring", why.reason);
	mount_note(session->mount);
	mount_keep(session->mount, &kept);
	serve->recovery->noted = kept.noted;
	workers_report_idle(serve);
}

static void session_settle(struct session *session, const char *label)
{
	const struct serve *serve = &session->serve;
	char budget[SIZE_TEXT_SIZE];

	clients_settle(serve->clients, mount_device(session->mount));
	if (serve->adopts) /* the supervisor tells of it */
		return;
	log_info("'%s' serves version '%s' of '%s', %u %s, buffers up to %s, io=%s channel=%s",
		 serve->options.mountpoint, label, serve->options.volume,
		 serve->worker_count, serve->worker_count == 1 ? "worker" : "workers",
		 format_size(serve->machine.buffer_budget, budget), serve->machine.uring ? "uring" : "threads",
		 serve->machine.ring ? "ring" : "dev");
	log_info("'%s': %s", serve->options.mountpoint, successor_promise(serve));
}

/* The signals that unmount. SIGHUP is left out if it is ignored, as under nohup(1): blocked, it would be delivered. */
static void session_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGQUIT);
	if (!signal_is_ignored(SIGHUP))
		sigaddset(ret, SIGHUP);
}

static_assert(SNAPSHOTS_MAX == RECOVERY_SNAPSHOTS, "the record has a place for each snapshot");

/* The texts of a former server, or a file for ours. Without it open files get other texts from a successor. */
static int session_open_texts(const struct serve *serve)
{
	auto_close int fd = keep_take(serve->keep, "texts");
	struct error why = { 0 };
	int r = 0;

	if (fd < 0 && serve->is_kept && !keep_is_rehearsal(serve->keep)) {
		r = texts_make(SNAPSHOTS_MAX, &fd, &why);
		if (r == 0)
			r = keep_put(serve->keep, fd, &why, "texts");
	}
	if (r < 0)
		log_debug("texts of files of .datasetfs are not kept for another server: %s", why.reason);
	return take_fd(&fd);
}

static int session_take_snapshots(struct serve *serve, struct error *err)
{
	struct snapshots_setup setup = { .made = &serve->recovery->snapshots_made,
					 .nodes = serve->recovery->snapshots,
					 .texts = session_open_texts(serve) };
	int r = snapshots_new(&setup, &serve->snapshots, err);

	if (r < 0)
		close_fd(&setup.texts);
	return r;
}

static int session_prepare(struct session *session, struct error *err)
{
	struct serve *serve = &session->serve;
	sigset_t signals;
	int r;

	session_signals(&signals);
	session->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (session->signal_fd < 0)
		return error_errno(err, "cannot wait for signals");
	r = wake_open(&session->workers.ended, err);
	if (r == 0)
		r = wake_open(&serve->wake, err);
	if (r < 0)
		return r;
	serve->generations.wake = &serve->wake;
	serve->history.started = clock_now();
	(void)!subordinate_read(SUBORDINATE_FILE, &serve->subordinate, NULL); /* most machines have none */
	r = successor_begin(serve, err);
	if (r == 0)
		r = cache_folder_open(serve, err);
	if (r == 0)
		r = serve->adopts ? volume_adopt(serve, err) : volume_open(serve, err);
	if (r == 0)
		r = machine_choose(serve, err);
	if (r == 0)
		r = serve->adopts ? takeover_versions(serve, err) : session_open_version(serve, err);
	if (r < 0)
		return r;
	cached_chunks_open(serve);
	r = session_take_snapshots(serve, err);
	if (r == 0)
		r = damage_new(&serve->damage, err);
	if (r == 0)
		r = page_cache_new(&serve->pages, err);
	if (r < 0)
		return r;
	return chunk_cache_new((size_t)1 << serve_current(serve)->opened.index->chunk_log, &serve->cache, err);
}

/* Starts the threads in the order in which they need each other; the control thread comes last, because it tells the
 * others about members that join, and continues the work of a former server. */
static int session_start_threads(struct serve *serve, struct error *err)
{
	static int (*const start[])(struct serve *serve, struct error *err) = {
		clients_start, cache_folder_start, cached_chunks_start, prune_start, visits_start, ahead_start,
		announced_start, warmer_start, watchdog_start, control_start, resume_start,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(start) / sizeof(start[0]); i++)
		r = start[i](serve, err);
	return r;
}

/* Has the kernel send the former server's open requests again. Interrupts that it had not read must be out of the
 * kernel's list by then, or older kernels free requests that are still in it: a worker reads them first. */
static void session_resend(struct session *session)
{
	struct error err = { 0 };

	workers_await_requests(&session->workers);
	if (session->init.resends && resend_all(session->serve.mount_fd, &err) < 0)
		log_error(&err, "'%s': requests of the former server are lost", session->serve.options.mountpoint);
	workers_look(&session->workers);
}

static int session_bring_up(struct session *session, struct error *err)
{
	struct serve *serve = &session->serve;
	char label[DSFS_LABEL_MAX + 1];
	int r;

	r = session_prepare(session, err);
	if (r < 0)
		return r;
	r = serve->adopts ? takeover_mount(serve, &session->mount, &session->init, err) : session_mount(session, err);
	if (r < 0)
		return r;
	serve->mount_fd = mount_fd(session->mount);
	step("session-mounted");
	r = workers_create(&session->workers, serve, err);
	if (r == 0)
		r = successor_mount(serve, session->mount, &session->init, err);
	if (r < 0)
		return r;
	step("session-kept");
	privileges_drop(); /* for this thread and all that it starts */
	/* Copy the label: outside a section, the control thread may close the version as soon as it runs. */
	memcpy(label, serve_current(serve)->opened.version.label, sizeof(label));
	r = session_start_threads(serve, err);
	step("session-threads");
	if (r == 0)
		r = workers_start(&session->workers, err);
	if (r < 0)
		return r;
	step("session-serves");
	if (serve->adopts)
		session_resend(session);
	else
		session_settle_mount(session);
	step("session-resent");
	session_settle(session, label);
	session->clears_at = serve->adopts ? clock_now() + SESSION_CLEARS : 0;
	return 0;
}

void session_block_signals(void)
{
	sigset_t signals;

	session_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int session_new(const struct mount_options *options, struct keep *keep, struct session **ret,
		       struct error *err)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return error_no_memory(err);
	session->serve.options = *options;
	session->serve.keep = keep;
	session->serve.adopts = keep && keep_is_successor(keep);
	session->serve.owner = geteuid();
	session->serve.generations.adding = successor_add_version;
	session->serve.generations.removed = successor_remove_version;
	session->serve.generations.owner = &session->serve;
	pthread_mutex_init(&session->serve.generations.lock, NULL);
	session->signal_fd = session->workers.ended.fd = session->serve.wake.fd = -1;
	*ret = session;
	return 0;
}

int session_check(const struct mount_options *options, struct error *err)
{
	struct session *session = NULL;
	int r = session_new(options, NULL, &session, err);

	if (r == 0)
		r = session_prepare(session, err);
	session_free(session); /* no thread has begun */
	return r;
}

int session_rehearse(const struct mount_options *options, struct keep *keep, struct error *err)
{
	struct session *session = NULL;
	int r = session_new(options, keep, &session, err);

	if (r == 0)
		r = session_prepare(session, err);
	if (r == 0)
		r = takeover_mount(&session->serve, &session->mount, &session->init, err);
	if (r < 0)
		return r;
	session->serve.mount_fd = mount_fd(session->mount);
	return workers_create(&session->workers, &session->serve, err);
}

int session_start(const struct mount_options *options, struct keep *keep, struct session **ret, struct error *err)
{
	int r = session_new(options, keep, ret, err);

	return r < 0 ? r : session_bring_up(*ret, err);
}

const char *session_mountpoint(const struct session *session)
{
	return session->serve.options.mountpoint;
}

/* ---- going down ---- */

/* The first signal unmounts if the mount is not in use. After it was refused, the next one detaches the mount lazily,
 * except SIGHUP, which a closing terminal sends several times. */
static void session_signal(struct session *session, uint32_t number)
{
	const char *mountpoint = session->serve.options.mountpoint;
	bool lazy = session->was_busy && number != SIGHUP;
	struct error err = { 0 };

	if (mount_is_given(session->mount)) {
		session->is_left = true;
		return;
	}
	if (session->detached) {
		log_warn("'%s' is detached and ends when its last user does", mountpoint);
		return;
	}
	if (mount_unmount(session->mount, lazy, &err) == 0) {
		session->detached = lazy;
		return;
	}
	if (err.code != -EBUSY) {
		log_error(&err, "cannot unmount");
		return;
	}
	session->was_busy = true;
	log_warn("'%s' is busy and stays mounted; another SIGTERM or SIGINT detaches it: %s", mountpoint, err.reason);
	notify_send("STATUS='%s' is busy, still serving", mountpoint);
}

/* Takes a signal. The supervisor passes its own on, and a signal to both processes counts once. */
static void session_take_signal(struct session *session)
{
	struct keep *keep = session->serve.keep;
	struct signalfd_siginfo signal;

	if (read(session->signal_fd, &signal, sizeof(signal)) != sizeof(signal))
		return;
	if (keep_fd(keep) >= 0)
		log_info("signal %" PRIu32 " is for the supervisor, process %d, ignoring", signal.ssi_signo,
			 (int)keep_supervisor(keep));
	else
		session_signal(session, signal.ssi_signo);
}

/* Nothing may be stored into the page cache from now on, as nothing could end a store that hangs. */
static void session_lose_supervisor(struct session *session)
{
	atomic_store(&session->serve.may_store, false);
	log_warn("the supervisor of '%s' has ended: if this process ends, too, the mount does, so unmount and mount it "
		 "when you can", session->serve.options.mountpoint);
}

/* Nothing is freed or unmounted: what threads of ours do is cut off as by a kill. */
static void session_leave(struct session *session)
{
	atomic_store(&session->serve.is_leaving, true);
	upgrade_leave(&session->serve, session->init.resends);
	workers_leave(&session->workers);
	session->leaves_by = clock_now() + SESSION_LEAVE;
}

/* A server of before takes nothing any more. Clones of workers that this server does not have can be closed now, which
 * would end the requests in them with an error. */
static void session_gone(struct session *session)
{
	struct error err = { 0 };

	session->clears_at = 0;
	if (session->init.resends && resend_all(session->serve.mount_fd, &err) < 0)
		log_error(&err, "requests of the former server are lost");
	else
		keep_drop_left(session->serve.keep, "clone.");
	workers_look(&session->workers);
}

static void session_hear(struct session *session)
{
	struct keep_event event;

	while ((event = keep_next(session->serve.keep)).kind != KEEP_NOTHING) {
		step("session-hears");
		if (event.kind == KEEP_SIGNAL) {
			session_signal(session, event.number);
			keep_heard(session->serve.keep, event.number);
		} else if (event.kind == KEEP_LOST) {
			session_lose_supervisor(session);
		} else if (event.kind == KEEP_UPGRADED) {
			upgrade_fail(&session->serve, keep_upgraded(session->serve.keep));
		} else if (event.kind == KEEP_STOP) {
			session_leave(session);
		} else if (event.kind == KEEP_GONE) {
			session_gone(session);
		}
	}
}

/* Returns for how many ms to wait. */
static int session_beat(struct session *session)
{
	if (keep_fd(session->serve.keep) >= 0) {
		workers_check_pulse(&session->workers);
		keep_beat(session->serve.keep);
	} else {
		notify_send("WATCHDOG=1");
	}
	if (session->clears_at && clock_now() >= session->clears_at && keep_has_left(session->serve.keep, "clone."))
		session_gone(session);
	if (session->leaves_by)
		return (int)((session->leaves_by - clock_now()) / 1000000) + 1;
	return session->serve.machine.blocks ? SESSION_LOOK : step_number("DATASETFS_BEAT", SESSION_BEAT);
}

static int session_wait(struct session *session, struct error *err)
{
	struct pollfd fds[3] = { { session->signal_fd, POLLIN, 0 }, { session->workers.ended.fd, POLLIN, 0 },
				 { keep_fd(session->serve.keep), POLLIN, 0 } };

	if (poll(fds, 3, session_beat(session)) < 0 && errno != EINTR)
		return error_errno(err, "poll");
	return 0;
}

bool session_is_replaced(const struct session *session)
{
	return session->leaves_by;
}

static bool session_goes_on(const struct session *session, uint64_t ended)
{
	if (session->leaves_by && clock_now() >= session->leaves_by)
		return false;
	/* A device may keep all slots, so that no worker notices the end. */
	return ended < session->serve.worker_count && !session->is_left && !mount_is_over(session->mount);
}

int session_run(struct session *session, struct error *err)
{
	uint64_t ended = 0;
	int r;

	while (session_goes_on(session, ended)) {
		r = session_wait(session, err);
		ended += wake_take(&session->workers.ended);
		if (r == 0)
			r = workers_check_queues(&session->workers, err);
		if (r < 0)
			return r;
		session_take_signal(session);
		session_hear(session);
	}
	if (session_is_replaced(session))
		return 0;
	notify_send("STOPPING=1");
	if (session->is_left)
		return 0;
	r = workers_join(&session->workers, err);
	session->unmounted = r == 0;
	return r;
}

static void session_close_versions(struct serve *serve)
{
	for (unsigned i = 0; i < GENERATIONS_MAX; i++)
		generation_put(atomic_load(&serve->generations.slots[i]));
}

/* Ends a half-built or failed mount: detaches it and ends the workers even if it is in use. Its users get errors as
 * soon as the last descriptor of the mount is closed. */
static void session_abandon(struct session *session)
{
	struct error err = { 0 };

	if (mount_unmount(session->mount, true, &err) < 0)
		log_error(&err, "cannot unmount");
	(void)fetchers_stop(&session->serve);
	workers_stop(&session->workers);
	session->unmounted = workers_join(&session->workers, &err) == 0;
}

/* Ends all threads. True: one does not end, as a device keeps it; so nothing may be freed that it can reach. */
static bool session_stop_threads(struct session *session)
{
	struct serve *serve = &session->serve;
	bool is_stuck = workers_are_stuck(&session->workers);

	is_stuck = !fetchers_stop(serve) || is_stuck;
	is_stuck = !warmer_stop(serve->warmer) || is_stuck;
	watchdog_stop(serve->watchdog); /* before control_stop(), as it wakes the control thread */
	prune_stop(serve->prune);
	visits_stop(serve->visits);
	is_stuck = !control_stop(serve->control) || is_stuck;
	is_stuck = !clients_stop(serve->clients) || is_stuck;
	is_stuck = !cache_folder_stop(serve->cache_folder) || is_stuck;
	return !cached_chunks_stop(serve) || is_stuck;
}

bool session_free(struct session *session)
{
	bool is_stuck;

	if (!session)
		return true;
	if (session->mount && !session->unmounted)
		session_abandon(session);
	is_stuck = session_stop_threads(session);
	successor_end(&session->serve);
	if (!is_stuck) { /* close it before the farewell: its filesystem may be unmounted then */
		serve_forget_members(&session->serve);
		array_close(session->serve.volume.array);
		cached_chunks_free(&session->serve);
		cache_folder_free(session->serve.cache_folder);
	}
	mount_farewell(session->mount);
	if (is_stuck) /* a thread or a device still uses the rest; the end of the process frees it */
		return false;
	fetchers_free(&session->serve);
	warmer_free(session->serve.warmer);
	clients_free(session->serve.clients);
	watchdog_free(session->serve.watchdog);
	visits_free(session->serve.visits);
	control_free(session->serve.control);
	prune_free(session->serve.prune);
	workers_free(&session->workers);
	cpus_free(&session->serve.machine.cpus);
	mount_free(session->mount);
	snapshots_free(session->serve.snapshots);
	subordinate_free(session->serve.subordinate);
	damage_free(session->serve.damage);
	chunk_cache_free(session->serve.cache);
	page_cache_free(session->serve.pages);
	route_free(session->serve.volume.route);
	window_free(session->serve.volume.window);
	free(atomic_load(&session->serve.volume.rings));
	session_close_versions(&session->serve);
	successor_free(&session->serve);
	pthread_mutex_destroy(&session->serve.generations.lock);
	close_fd(&session->signal_fd);
	wake_close(&session->serve.wake);
	free(session);
	return true;
}
