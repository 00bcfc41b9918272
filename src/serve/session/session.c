/* SPDX-License-Identifier: MIT */
/* The order in which a mount comes up, and how it goes down. */
#include "serve/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "base/privileges.h"
#include "base/signal.h"
#include "device/locate.h"
#include "fuse/init.h"
#include "fuse/mount.h"
#include "serve/control/control.h"
#include "serve/control/prune.h"
#include "serve/control/watch.h"
#include "serve/dotdir/snapshots.h"
#include "serve/dotdir/visits.h"
#include "serve/opening/open.h"
#include "serve/request/content.h"
#include "serve/serve.h"
#include "serve/session/notify.h"
#include "serve/session/ops.h"
#include "serve/worker/worker.h"

#define SLOTS_MIN       8u
#define SLOTS_MAX       64u
#define SLOT_SIZE       (INIT_READ_MAX + READ_SCRATCH + sizeof(struct content))
/* For all workers, unless that left them fewer than SLOTS_MIN, or queues of the kernel's than CPUS_DEPTH_MIN. */
#define BUFFER_BUDGET   (UINT64_C(1) << 30)
#define THREADS_PER_CPU 16u                 /* without io_uring a thread is one read in flight */
#define WORKERS_MAX     1024u
#define RING_SWITCH     "/sys/module/fuse/parameters/enable_uring"
#define THREADS_MAX     256u
#define THREAD_SLOTS    4u /* without io_uring: one for a request, the others for commands under way */

struct session {
	struct serve serve;
	struct mount *mount;
	bool unmounted; /* and all workers ended because of it */
	bool detached;  /* lazily: ends with its last user */
	bool was_busy;  /* a signal found it in use */
	int signal_fd;
	struct wake ended; /* workers that ended */
	unsigned running; /* threads that have not been joined */
};

/* ---- the volume and its version ---- */

static int session_open_version(struct serve *serve, struct error *err)
{
	struct open_wish wish = { .label = serve->options.version };
	struct generation *generation;
	int r = open_version(serve, &wish, &generation, err);

	if (r < 0)
		return r;
	atomic_store(&serve->generations.current, generation);
	atomic_store(&serve->generations.announced, generation);
	return 0;
}

/* ---- the machine: engine, workers, memory ---- */

static unsigned session_clamp(uint64_t n, unsigned least, unsigned most)
{
	return n < least ? least : n > most ? most : (unsigned)n;
}

/* A worker for each CPU, and one for what the kernel sends by /dev/fuse all the same. */
static void session_size_ring(struct serve *serve)
{
	serve->worker_count = serve->cpus.workers + 1;
	cpus_share(&serve->cpus, BUFFER_BUDGET / SLOT_SIZE);
	serve->slots = SLOTS_MIN;
	serve->buffer_budget = (cpus_entries(&serve->cpus) + SLOTS_MIN) * SLOT_SIZE + CHUNK_CACHE_SIZE +
			       PAGE_CACHE_SIZE;
}

static void session_size_dev(struct serve *serve, unsigned most)
{
	unsigned n = serve->options.workers;

	if (!n)
		n = serve->cpus.workers * (serve->uring ? 1 : THREADS_PER_CPU);
	serve->worker_count = session_clamp(n, 1, most);
	serve->slots = THREAD_SLOTS;
	if (serve->uring)
		serve->slots = session_clamp(BUFFER_BUDGET / serve->worker_count / SLOT_SIZE, SLOTS_MIN, SLOTS_MAX);
	serve->buffer_budget = serve->worker_count * serve->slots * SLOT_SIZE + CHUNK_CACHE_SIZE +
			       PAGE_CACHE_SIZE;
}

/* How many threads, and how much memory they may come to hold. most: threads on /dev/fuse at most. */
static void session_size_channel(struct serve *serve, unsigned most)
{
	if (serve->ring)
		session_size_ring(serve);
	else
		session_size_dev(serve, most);
	serve->jobs = (serve->ring ? cpus_depth_least(&serve->cpus) : (unsigned)serve->slots) - 1;
}

static int session_size(struct serve *serve, struct error *err)
{
	int r = cpus_find(serve->ring ? serve->options.workers : 0, &serve->cpus, err);

	if (r < 0)
		return r;
	if (serve->ring && !serve->cpus.possible)
		return error_set(err, -EIO, "cannot tell how many queues FUSE over io_uring has");
	session_size_channel(serve, serve->uring ? WORKERS_MAX : THREADS_MAX);
	return 0;
}

static int session_choose_io(struct serve *serve, struct error *err)
{
	struct error why = { 0 };
	int r;

	serve->uring = false;
	if (serve->options.io == SERVE_IO_THREADS) {
		snprintf(serve->io_reason, sizeof(serve->io_reason), "io=threads");
		return 0;
	}
	r = worker_probe_ring(&serve->volume->fd, false, &why);
	if (r == 0) {
		serve->uring = true;
		return 0;
	}
	if (serve->options.io == SERVE_IO_URING)
		return error_set(err, r, "%s", why.reason);
	snprintf(serve->io_reason, sizeof(serve->io_reason), "%.200s", why.reason);
	log_warn("io_uring is refused, reads go through a slower pool of threads: %s", why.reason);
	return 0;
}

/* Y, N, or 0 where the kernel knows nothing of it. */
static char session_ring_switch(void)
{
	auto_close int fd = open(RING_SWITCH, O_RDONLY | O_CLOEXEC);
	char value = 0;

	if (fd < 0 || read(fd, &value, 1) != 1)
		return 0;
	return value;
}

static int session_choose_channel(struct serve *serve, struct error *err)
{
	enum serve_channel wanted = serve->options.channel;
	bool must = wanted == SERVE_CHANNEL_RING;
	char offered = session_ring_switch();
	struct error why = { 0 };

	serve->ring = false;
	if (wanted == SERVE_CHANNEL_DEV)
		return 0;
	if (offered == 'N' && must)
		return error_set(err, -EOPNOTSUPP,
				 "channel=ring: FUSE over io_uring is off, 'echo Y >" RING_SWITCH "' turns it on");
	if (offered == 0 && must)
		return error_set(err, -EOPNOTSUPP,
				 "channel=ring: this kernel has no FUSE over io_uring, expected Linux 6.14 or newer");
	if (must && !serve->uring)
		return error_set(err, -EOPNOTSUPP, "channel=ring needs io_uring: %s", serve->io_reason);
	serve->ring_is_off = offered == 'N';
	if (offered != 'Y' || !serve->uring)
		return 0;
	serve->ring = worker_probe_ring(&serve->volume->fd, true, &why) == 0;
	if (!serve->ring && must)
		return error_set(err, why.code, "channel=ring: %s", why.reason);
	return 0;
}

/* The switch was moved after our look at it. The version is open by now, with readers for as many workers as there
 * were to be. */
static int session_lose_ring(struct serve *serve, struct error *err)
{
	if (serve->options.channel == SERVE_CHANNEL_RING)
		return error_set(err, -EOPNOTSUPP, "channel=ring: the kernel did not offer FUSE over io_uring");
	serve->ring = false;
	serve->ring_is_off = true;
	session_size_channel(serve, serve->worker_count);
	return 0;
}

/* ---- coming up ---- */

static int session_attach(struct session *session, struct error *err)
{
	const struct serve_options *options = &session->serve.options;
	struct mount_setup setup = { .allow_other = options->allow_other,
				     .noexec = options->noexec,
				     .suid = options->suid };
	auto_free char *source = NULL;
	struct init init;
	int r;

	if (asprintf(&source, "%s%s%s", options->volume, options->version ? "@" : "",
		     options->version ? options->version : "") < 0)
		return error_set(err, -ENOMEM, "no memory for the name of the volume");
	setup.source = source;
	r = mount_attach(options->mountpoint, &setup, &session->mount, err);
	if (r < 0)
		return r;
	session->serve.mount_fd = mount_fd(session->mount);
	r = init_negotiate(session->serve.mount_fd, session->serve.ring, &init, err);
	if (r < 0)
		return r;
	log_debug("FUSE 7.%u, offered=%#" PRIx64 " taken=%#" PRIx64, init.minor, init.offered, init.taken);
	return session->serve.ring == init.ring ? 0 : session_lose_ring(&session->serve, err);
}

static const struct worker_hooks session_hooks = {
	.handlers = &ops_handlers,
	.start = content_start,
	.drain = content_drain,
};

static int session_create_worker(struct session *session, unsigned number, struct error *err)
{
	struct serve *serve = &session->serve;
	bool ring = serve->ring && number < serve->cpus.workers;
	size_t most = ring ? serve->cpus.possible : 0;
	auto_free uint16_t *numbers = calloc(most + 1, sizeof(*numbers)), *depths = calloc(most + 1, sizeof(*depths));
	struct channel_queues queues = { .numbers = numbers, .depths = depths };
	struct worker_setup setup = {
		.serve = serve,
		.hooks = &session_hooks,
		.number = number,
		.session_fd = serve->mount_fd,
		.volume_fd = &serve->volume->fd,
		.uring = serve->uring,
		.cpu = -1,
		.slots = serve->slots,
		.started = &serve->started_workers,
		.ended = &session->ended,
	};
	int r;

	if (!numbers || !depths)
		return error_set(err, -ENOMEM, "no memory for worker %u", number);
	if (ring) {
		queues.count = cpus_queues(&serve->cpus, number, numbers);
		for (unsigned i = 0; i < queues.count; i++)
			depths[i] = (uint16_t)cpus_depth(&serve->cpus, numbers[i]);
		setup.queues = &queues;
		setup.cpu = serve->cpus.own[number];
	}
	r = worker_new(&setup, &serve->workers[number], err);
	if (r < 0)
		return r;
	generations_register(&serve->generations, &serve->workers[number]->section);
	return content_open(serve->workers[number], err);
}

static int session_create_workers(struct session *session, struct error *err)
{
	struct serve *serve = &session->serve;
	int r;

	serve->workers = calloc(serve->worker_count, sizeof(*serve->workers));
	if (!serve->workers)
		return error_set(err, -ENOMEM, "no memory for %u workers", serve->worker_count);
	for (unsigned i = 0; i < serve->worker_count; i++) {
		r = session_create_worker(session, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int session_start_workers(struct session *session, struct error *err)
{
	struct serve *serve = &session->serve;
	int r;

	for (; session->running < serve->worker_count; session->running++) {
		r = worker_start(serve->workers[session->running], err);
		if (r < 0)
			return r;
	}
	for (unsigned i = 0; i < serve->worker_count; i++)
		while (sem_wait(&serve->started_workers) < 0)
			continue;
	for (unsigned i = 0; i < serve->worker_count; i++)
		if (!serve->workers[i]->has_engine)
			return error_set(err, -EIO, "worker %u did not start: %s", i,
					 serve->workers[i]->failure.reason);
	return 0;
}

/* Those that were asked for and would have nothing to do. */
static void session_tell_workers(const struct serve *serve)
{
	unsigned serving = serve->worker_count - serve->ring; /* without the one that /dev/fuse has beside the ring */
	const char *why = "FUSE over io_uring was turned off while the mount came up";

	if (serve->options.workers <= serving)
		return;
	if (serve->ring)
		why = "FUSE over io_uring has at most one for each CPU, channel=dev takes more";
	else if (!serve->uring)
		why = "there are no more without io_uring";
	log_warn("workers=%u: %u serve, %s", serve->options.workers, serving, why);
}

/* What may only be done while requests are answered. */
static void session_settle(struct session *session, const char *label)
{
	const struct serve *serve = &session->serve;
	char budget[SIZE_TEXT_SIZE];
	struct error why = { 0 };

	if (geteuid() == 0 && init_raise_readahead(serve->options.mountpoint, &why) < 0)
		log_warn("read-ahead stays at the kernel's default: %s, ignoring", why.reason);
	mount_note(session->mount);
	if (serve->ring_is_off)
		log_info("FUSE over io_uring is off, /dev/fuse is used; 'echo Y >" RING_SWITCH
			 "' before the mount turns it on");
	session_tell_workers(serve);
	log_info("'%s' serves version '%s' of '%s', %u %s, buffers up to %s, io=%s channel=%s",
		 serve->options.mountpoint, label, serve->options.volume,
		 serve->worker_count, serve->worker_count == 1 ? "worker" : "workers",
		 format_size(serve->buffer_budget, budget), serve->uring ? "uring" : "threads",
		 serve->ring ? "ring" : "dev");
}

static int session_open_volume(struct serve *serve, struct error *err)
{
	auto_free char *path = NULL;
	struct error ignored = { 0 };
	int r = locate_path(serve->options.volume, &path, err);

	if (r == 0)
		r = file_open(path, FILE_READ, &serve->volume, err);
	if (r == 0 && locate_identity(serve->volume->fd, serve->identity, &ignored) < 0)
		log_debug("'%s' will not be found under another name: %s", serve->options.volume, ignored.reason);
	return r;
}

/* Those that unmount. Of a blocked signal the kernel forgets that it is ignored, as nohup(1) has SIGHUP. */
static void session_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGQUIT);
	if (!signal_is_ignored(SIGHUP))
		sigaddset(ret, SIGHUP);
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
	r = wake_open(&session->ended, err);
	if (r == 0)
		r = wake_open(&serve->wake, err);
	if (r < 0)
		return r;
	serve->generations.wake = &serve->wake;
	sem_init(&serve->started_workers, 0, 0);
	serve->started = clock_now();
	r = session_open_volume(serve, err);
	if (r < 0)
		return r;
	r = session_choose_io(serve, err);
	if (r < 0)
		return r;
	r = session_choose_channel(serve, err);
	if (r < 0)
		return r;
	r = session_size(serve, err);
	if (r < 0)
		return r;
	r = session_open_version(serve, err);
	if (r < 0)
		return r;
	r = snapshots_new(&serve->snapshots, err);
	if (r < 0)
		return r;
	r = page_cache_new(&serve->pages, err);
	if (r < 0)
		return r;
	return chunk_cache_new((size_t)1 << serve_current(serve)->index->chunk_log, &serve->cache, err);
}

static int session_bring_up(struct session *session, struct error *err)
{
	char label[DSFS_LABEL_MAX + 1];
	int r;

	r = session_prepare(session, err);
	if (r < 0)
		return r;
	r = session_attach(session, err);
	if (r < 0)
		return r;
	r = session_create_workers(session, err);
	if (r < 0)
		return r;
	privileges_drop(); /* of this thread and all that are to come */
	/* Without a section nothing keeps a version: the control thread may close it as soon as it runs. */
	memcpy(label, serve_current(&session->serve)->version.label, sizeof(label));
	r = prune_start(&session->serve, err);
	if (r < 0)
		return r;
	r = control_start(&session->serve, err);
	if (r < 0)
		return r;
	r = visits_start(&session->serve, err);
	if (r < 0)
		return r;
	r = watch_start(&session->serve, err);
	if (r < 0)
		return r;
	r = session_start_workers(session, err);
	if (r < 0)
		return r;
	session_settle(session, label);
	return 0;
}

void session_block_signals(void)
{
	sigset_t signals;

	session_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int session_new(const struct serve_options *options, struct session **ret, struct error *err)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return error_set(err, -ENOMEM, "no memory for a mount");
	session->serve.options = *options;
	session->serve.owner = geteuid();
	pthread_mutex_init(&session->serve.generations.lock, NULL);
	session->signal_fd = session->ended.fd = session->serve.wake.fd = -1;
	*ret = session;
	return 0;
}

int session_check(const struct serve_options *options, struct error *err)
{
	struct session *session = NULL;
	int r = session_new(options, &session, err);

	if (r == 0)
		r = session_prepare(session, err);
	session_free(session);
	return r;
}

int session_start(const struct serve_options *options, struct session **ret, struct error *err)
{
	struct session *session = NULL;
	int r = session_new(options, &session, err);

	if (r == 0)
		r = session_bring_up(session, err);
	if (r < 0) {
		session_free(session);
		return r;
	}
	*ret = session;
	return 0;
}

/* ---- going down ---- */

/* The first signal unmounts, if nobody is in; the next one after a refusal takes the mount out of sight. A terminal
 * that closes sends several SIGHUPs, and means none of them so. */
static void session_signal(struct session *session, uint32_t number)
{
	const char *mountpoint = session->serve.options.mountpoint;
	bool lazy = session->was_busy && number != SIGHUP;
	struct error err = { 0 };

	if (session->detached) {
		log_warn("'%s' is detached and ends when its last user does", mountpoint);
		return;
	}
	if (mount_detach(session->mount, lazy, &err) == 0) {
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

static int session_join(struct session *session, struct error *err)
{
	struct serve *serve = &session->serve;
	int r = 0;

	while (session->running) {
		struct worker *worker = serve->workers[--session->running];

		pthread_join(worker->thread, NULL);
		if (worker->failure.code < 0)
			r = error_set(err, worker->failure.code, "worker %u: %.400s", worker->number,
				      worker->failure.reason);
	}
	session->unmounted = r == 0;
	return r;
}

/* Others take what a worker on /dev/fuse leaves; nobody a queue of the kernel's: its CPU's readers would hang. */
static int session_check_queues(const struct session *session, struct error *err)
{
	const struct serve *serve = &session->serve;

	for (unsigned i = 0; serve->ring && i < serve->cpus.workers; i++)
		if (atomic_load(&serve->workers[i]->failed))
			return error_set(err, -EIO, "it cannot go on: %.400s", serve->workers[i]->failure.reason);
	return 0;
}

int session_run(struct session *session, struct error *err)
{
	struct pollfd fds[2] = { { session->signal_fd, POLLIN, 0 }, { session->ended.fd, POLLIN, 0 } };
	struct signalfd_siginfo signal;
	uint64_t ended = 0;

	while (ended < session->serve.worker_count) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return error_errno(err, "poll");
		ended += wake_take(&session->ended);
		if (session_check_queues(session, err) < 0)
			return err->code;
		if (read(session->signal_fd, &signal, sizeof(signal)) == sizeof(signal))
			session_signal(session, signal.ssi_signo);
	}
	notify_send("STOPPING=1");
	return session_join(session, err);
}

static void session_free_workers(struct serve *serve)
{
	for (unsigned i = 0; serve->workers && i < serve->worker_count && serve->workers[i]; i++) {
		content_close(serve->workers[i]);
		worker_free(serve->workers[i]);
	}
	free(serve->workers);
}

static void session_close_versions(struct serve *serve)
{
	for (unsigned i = 0; i < GENERATIONS_MAX; i++)
		generation_put(atomic_load(&serve->generations.slots[i]));
}

/* Half-built or failed: out of sight, and the workers end even if somebody is inside, who gets errors as soon as the
 * last descriptor of the mount is closed. */
static void session_abandon(struct session *session)
{
	struct error err = { 0 };

	if (mount_detach(session->mount, true, &err) < 0)
		log_error(&err, "cannot unmount");
	for (unsigned i = 0; i < session->running; i++)
		worker_stop(session->serve.workers[i]);
	session_join(session, &err);
}

void session_free(struct session *session)
{
	if (!session)
		return;
	if (session->mount && !session->unmounted)
		session_abandon(session);
	watch_stop(session->serve.watch); /* which wakes the control thread */
	prune_stop(session->serve.prune);
	visits_stop(session->serve.visits);
	control_stop(session->serve.control);
	file_close(session->serve.volume); /* first: what it lies on may be about to be unmounted */
	mount_farewell(session->mount);
	prune_free(session->serve.prune);
	session_free_workers(&session->serve);
	cpus_free(&session->serve.cpus);
	mount_free(session->mount);
	snapshots_free(session->serve.snapshots);
	chunk_cache_free(session->serve.cache);
	page_cache_free(session->serve.pages);
	session_close_versions(&session->serve);
	pthread_mutex_destroy(&session->serve.generations.lock);
	close_fd(&session->signal_fd);
	wake_close(&session->ended);
	wake_close(&session->serve.wake);
	free(session);
}
