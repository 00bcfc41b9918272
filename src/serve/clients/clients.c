/* SPDX-License-Identifier: MIT */
/* Runs one poll(2) over all connections. The thread never waits for a client: it drops a client if its socket has no
 * room for the answer. A client that is not entitled is told so and gets no place in the table. */
#include "serve/clients/clients.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/passing.h"
#include "base/program/rendezvous.h"
#include "base/thread/thread.h"
#include "client/state.h"
#include "datasetfs/control.h"
#include "serve/cache/cache_folder.h"
#include "serve/cache/cached_chunks.h"
#include "serve/clients/answer.h"
#include "serve/clients/credentials.h"
#include "serve/recovery/recovery.h"
#include "serve/successor/successor.h"
#include "supervisor/keep.h"

#define CLIENTS_MAX        1024u
#define CLIENTS_OF_MEMBER  256u /* limit for a user who is entitled by direct_group alone */
#define CLIENTS_OF_MEMBERS 768u /* limit for all such users; the rest is for root and the mounting user */
#define CLIENTS_PAUSE      1000 /* ms without new connections when descriptors run out */
#define CLIENTS_COUNT_MAX  (UINT64_C(1) << 48) /* limit of a count in one report */

enum { CLIENTS_WAKE, CLIENTS_LISTENER, CLIENTS_FIRST };

struct clients {
	struct serve *serve;
	struct thread thread;
	struct wake ending;
	struct state *state;     /* NULL: there is no socket */
	struct error why;        /* why there is no socket; constant */
	struct rendezvous place; /* constant */
	_Atomic uint64_t device; /* device number of the mount; 0: it does not serve yet */
	_Atomic bool ended;
	struct clients_counters counters; /* only the thread counts */
	/* Thread only: */
	unsigned most, count;
	bool paused;
	struct credentials peers[CLIENTS_MAX];
	struct pollfd fds[CLIENTS_FIRST + CLIENTS_MAX]; /* wake, listener, then a connection each */
};

/* ---- connections ---- */

/* Tells everybody how many share the mount's window: the clients, and the mount itself. */
static void clients_counted(struct clients *clients)
{
	struct window *window = clients->serve->volume.window;

	atomic_store(&clients->counters.connected, clients->count);
	state_divide(clients->state, clients->count + 1);
	if (window)
		window_divide(window, clients->count + 1);
}

static void clients_drop(struct clients *clients, unsigned i)
{
	close(clients->fds[CLIENTS_FIRST + i].fd);
	clients->count--;
	clients->fds[CLIENTS_FIRST + i] = clients->fds[CLIENTS_FIRST + clients->count];
	clients->peers[i] = clients->peers[clients->count];
	clients_counted(clients);
}

static int clients_check_room(const struct clients *clients, const struct credentials *peer, struct error *err)
{
	unsigned own = 0, members = 0;

	for (unsigned i = 0; i < clients->count; i++) {
		members += clients->peers[i].is_member;
		own += clients->peers[i].is_member && clients->peers[i].uid == peer->uid;
	}
	if (clients->count >= clients->most)
		return error_set(err, -EUSERS, "%u clients are connected, which is the limit", clients->count);
	if (peer->is_member && (own >= clients->most / 4 || own >= CLIENTS_OF_MEMBER))
		return error_set(err, -EUSERS, "%u clients of user %u are connected, which is the limit", own,
				 (unsigned)peer->uid);
	if (peer->is_member && (members >= clients->most / 4 * 3 || members >= CLIENTS_OF_MEMBERS))
		return error_set(err, -EUSERS,
				 "%u clients of members of the direct_group are connected, which is the limit",
				 members);
	return 0;
}

/* Tells a new client whether it may stay. The socket has room for the message, as the connection is new. */
static int clients_greet(struct clients *clients, int fd, struct credentials *ret, struct error *err)
{
	struct client_greeting greeting = { 0 };
	struct error why = { 0 };
	int r = credentials_check(clients->serve, fd, ret, &why);

	if (r == 0)
		r = clients_check_room(clients, ret, &why);
	client_begin(&greeting.answer.head, CLIENT_GREETING, sizeof(greeting));
	if (r < 0) {
		counter_add(&clients->counters.refused, 1);
		client_refuse(&greeting.answer, &why);
	}
	if (passing_send(fd, &greeting, sizeof(greeting), NULL, 0, err) < 0)
		return err->code;
	return r < 0 ? error_pass(err, r, &why) : 0;
}

static void clients_add(struct clients *clients, int fd)
{
	struct credentials peer;
	struct error err = { 0 };

	if (clients_greet(clients, fd, &peer, &err) < 0) {
		log_debug("a client is refused: %s", err.reason);
		close(fd);
		return;
	}
	clients->peers[clients->count] = peer;
	clients->fds[CLIENTS_FIRST + clients->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
	clients->count++;
	clients_counted(clients);
}

/* Accepts one connection at a time, so that connected clients have a turn before the next one. */
static void clients_accept(struct clients *clients)
{
	static struct log_limit limit = { .burst = 1 };
	unsigned suppressed;
	int fd = accept4(clients->place.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		clients_add(clients, fd);
		return;
	}
	clients->paused = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
	if (clients->paused && log_allow(&limit, &suppressed))
		log_warn("no client can connect: %s, trying again", strerror(errno));
}

/* ---- messages from clients ---- */

/* Checks that the client has read its last answer before it asks again. */
static int clients_check_read(int fd, struct error *err)
{
	int unread = 0;

	if (ioctl(fd, SIOCOUTQ, &unread) < 0)
		return error_errno(err, "cannot see what it has read");
	return unread ? error_set(err, -EPROTO, "it asks again before it has read its answer") : 0;
}

static int clients_send_refusal(int fd, const struct error *why, struct error *err)
{
	struct client_answer answer = { 0 };

	client_begin(&answer.head, CLIENT_OPENED, sizeof(answer));
	client_refuse(&answer, why);
	return passing_send(fd, &answer, sizeof(answer), NULL, 0, err);
}

static int clients_open(struct clients *clients, const struct credentials *peer, const struct passing_packet *packet,
			struct error *err)
{
	int fd = peer->fd;
	struct client_open query;
	struct answer answer;
	struct error why = { 0 };
	int r = client_check(packet->bytes, packet->length, CLIENT_OPEN, sizeof(query), err);

	if (r == 0)
		r = clients_check_read(fd, err);
	if (r < 0)
		return r;
	memcpy(&query, packet->bytes, sizeof(query));
	if (answer_make(clients->serve, clients->state, atomic_load(&clients->device), peer, &query, &answer,
			&why) < 0)
		return clients_send_refusal(fd, &why, err);
	r = passing_send(fd, &answer.message, sizeof(answer.message), answer.fds, answer.fd_count, err);
	answer_close(&answer);
	if (r == 0)
		counter_add(&clients->counters.opened, 1);
	return r;
}

/* Sends two files, or none if the second one is missing, and closes them. */
static int clients_send_files(int fd, const void *message, size_t length, int fds[2], struct error *err)
{
	int r = passing_send(fd, message, length, fds, fds[1] < 0 ? 0 : 2, err);

	close_fd(&fds[0]);
	close_fd(&fds[1]);
	return r;
}

static int clients_lend(struct clients *clients, int fd, const struct passing_packet *packet, struct error *err)
{
	struct client_lent lent = { 0 };
	struct client_borrow query;
	int fds[CLIENT_LENT_FDS] = { -1, -1 };
	struct error why = { 0 };
	int r = client_check(packet->bytes, packet->length, CLIENT_BORROW, sizeof(query), err);

	if (r == 0)
		r = clients_check_read(fd, err);
	if (r < 0)
		return r;
	memcpy(&query, packet->bytes, sizeof(query));
	client_begin(&lent.answer.head, CLIENT_LENT, sizeof(lent));
	if (answer_lend(clients->serve, &query, fds, &why) < 0)
		client_refuse(&lent.answer, &why);
	return clients_send_files(fd, &lent, sizeof(lent), fds, err);
}

static int clients_give_cache(struct clients *clients, const struct credentials *peer,
			      const struct passing_packet *packet, struct error *err)
{
	int fd = peer->fd;
	struct client_cached cached = { 0 };
	int fds[CLIENT_CACHE_FDS] = { -1, -1 };
	struct error why = { 0 };
	int r = client_check(packet->bytes, packet->length, CLIENT_CACHE, sizeof(struct client_cache), err);

	if (r == 0)
		r = clients_check_read(fd, err);
	if (r < 0)
		return r;
	client_begin(&cached.answer.head, CLIENT_CACHED, sizeof(cached));
	if (answer_cache(clients->serve, peer, fds, &why) < 0)
		client_refuse(&cached.answer, &why);
	return clients_send_files(fd, &cached, sizeof(cached), fds, err);
}

/* Chunks that clients read stay, as those that the mount reads: they may read all of the volume, so one that lies keeps
 * no more than one that reads. */
static int clients_note_hits(const struct clients *clients, const struct passing_packet *packet, struct error *err)
{
	struct client_hits hits;
	int r = client_check(packet->bytes, packet->length, CLIENT_HITS, sizeof(hits), err);

	if (r < 0)
		return r;
	memcpy(&hits, packet->bytes, sizeof(hits));
	for (uint64_t i = 0; i < CLIENT_HIT_WORDS; i++)
		for (uint64_t bits = hits.bits[i]; bits; bits &= bits - 1)
			cached_chunks_hit(clients->serve, (hits.at + i) * 64 + (unsigned)__builtin_ctzll(bits));
	return 0;
}

static void clients_log_report(const struct credentials *peer, const struct client_report *report)
{
	static struct log_limit limit = { .burst = 5 };
	unsigned suppressed;

	if (!report->counts[CLIENT_CHECKSUM_FAILURES] && !report->counts[CLIENT_DEVICE_ERRORS] &&
	    !report->counts[CLIENT_READ_FAILURES])
		return;
	if (log_allow(&limit, &suppressed))
		log_warn("a client that reads past the mount had trouble, pid=%u uid=%u checksum_failures=%llu "
			 "device_errors=%llu read_failures=%llu suppressed=%u",
			 (unsigned)peer->pid, (unsigned)peer->uid,
			 (unsigned long long)report->counts[CLIENT_CHECKSUM_FAILURES],
			 (unsigned long long)report->counts[CLIENT_DEVICE_ERRORS],
			 (unsigned long long)report->counts[CLIENT_READ_FAILURES], suppressed);
}

static void clients_count(struct clients_counters *counters, const struct client_report *report)
{
	for (unsigned i = 0; i < CLIENT_COUNTS; i++)
		counter_add(&counters->reported[i], report->counts[i]);
	if (report->counts[CLIENT_READ_FAILURES])
		counter_stamp(&counters->failed_at);
	if (report->counts[CLIENT_CHECKSUM_FAILURES] || report->counts[CLIENT_DEVICE_ERRORS])
		counter_stamp(&counters->error_at);
}

static int clients_report(struct clients *clients, const struct credentials *peer,
			  const struct passing_packet *packet, struct error *err)
{
	struct client_report report = { .counts = { 0 } };
	int r = client_check(packet->bytes, packet->length, CLIENT_REPORT, CLIENT_REPORT_LEAST, err);

	if (r < 0)
		return r;
	memcpy(&report, packet->bytes, packet->length < sizeof(report) ? packet->length : sizeof(report));
	for (unsigned i = 0; i < CLIENT_COUNTS; i++)
		if (report.counts[i] > CLIENTS_COUNT_MAX)
			return error_set(err, -EPROTO, "it reports %#llx of kind %u",
					 (unsigned long long)report.counts[i], i);
	clients_count(&clients->counters, &report);
	clients_log_report(peer, &report);
	return 0;
}

static int clients_hear(struct clients *clients, unsigned i, struct error *err)
{
	int fd = clients->fds[CLIENTS_FIRST + i].fd;
	struct passing_packet packet;
	struct client_head head = { 0 };
	int r = passing_receive(fd, 0, 0, &packet, err);

	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	memcpy(&head, packet.bytes, packet.length < sizeof(head) ? packet.length : sizeof(head));
	if (head.kind == CLIENT_REPORT)
		return clients_report(clients, &clients->peers[i], &packet, err);
	if (head.kind == CLIENT_BORROW)
		return clients_lend(clients, fd, &packet, err);
	if (head.kind == CLIENT_CACHE)
		return clients_give_cache(clients, &clients->peers[i], &packet, err);
	if (head.kind == CLIENT_HITS)
		return clients_note_hits(clients, &packet, err);
	return clients_open(clients, &clients->peers[i], &packet, err);
}

/* Handles a message. A client that fails is dropped; a client that closed its connection is not worth a log line. */
static void clients_serve(struct clients *clients, unsigned i)
{
	static struct log_limit limit = { .burst = 5 };
	const struct credentials peer = clients->peers[i];
	struct error err = { 0 };
	unsigned suppressed;
	int r = clients_hear(clients, i, &err);

	if (r == 0)
		return;
	clients_drop(clients, i);
	if (r == -ECONNRESET || r == -EPIPE)
		return;
	counter_add(&clients->counters.dropped, 1);
	if (log_allow(&limit, &suppressed))
		log_warn("a client is dropped, pid=%u uid=%u: %s, suppressed=%u", (unsigned)peer.pid,
			 (unsigned)peer.uid, err.reason, suppressed);
}

/* ---- the thread ---- */

static void clients_main(void *argument)
{
	struct clients *clients = argument;
	struct pollfd *fds = clients->fds;

	state_live(clients->state);
	while (!atomic_load(&clients->ended)) {
		fds[CLIENTS_LISTENER].events = clients->paused ? 0 : POLLIN;
		if (poll(fds, CLIENTS_FIRST + clients->count, clients->paused ? CLIENTS_PAUSE : -1) < 0)
			continue;
		clients->paused = false;
		/* Backwards, as clients_drop() fills a gap with the last one. Once ended, serve may be freed. */
		for (unsigned i = clients->count; i-- > 0 && !atomic_load(&clients->ended);)
			if (fds[CLIENTS_FIRST + i].revents)
				clients_serve(clients, i);
		if (fds[CLIENTS_LISTENER].revents && !atomic_load(&clients->ended))
			clients_accept(clients);
	}
	while (clients->count)
		clients_drop(clients, 0);
}

/* Clients get a quarter of the descriptors, and the daemon keeps the rest. */
static unsigned clients_most(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 4 > CLIENTS_MAX)
		return CLIENTS_MAX;
	return (unsigned)limit.rlim_cur / 4;
}

/* A successor listens where the former server did. credentials_check() decides who gets anything. */
static int clients_listen(struct clients *clients, struct error *err)
{
	struct serve *serve = clients->serve;
	int r;

	if (serve->adopts)
		rendezvous_adopt(&clients->place, keep_take(serve->keep, "client-folder"),
				 keep_take(serve->keep, "client"), serve->recovery->client_name,
				 serve->recovery->client_path);
	if (clients->place.listener >= 0)
		return 0;
	r = rendezvous_open("", 0666, &clients->place, err);
	if (r == 0)
		successor_clients(serve, &clients->place);
	return r;
}

static int clients_run(struct clients *clients, struct error *err)
{
	const struct thread_setup setup = { .run = clients_main, .argument = clients, .what = "the thread of clients" };
	const struct mount_options *options = &clients->serve->options;
	const struct state_terms terms = { .is_adaptive = options->window, .iops = options->max_iops,
					   .bandwidth = options->max_bandwidth };
	const struct recovery *record = clients->serve->recovery;
	int r = state_new(&terms, &clients->state, err);

	if (r == 0 && !record->device_major && !record->device_minor)
		r = error_set(err, -EOPNOTSUPP, "another process has mounted, and the kernel does not tell which mount "
			      "it is (Linux 6.16)");
	if (r == 0)
		r = wake_open(&clients->ending, err);
	if (r == 0)
		r = clients_listen(clients, err);
	if (r < 0)
		return r;
	if (clients->serve->adopts) /* the mount has been there all the time */
		clients_settle(clients, makedev(record->device_major, record->device_minor));
	clients->most = clients_most();
	clients->fds[CLIENTS_WAKE] = (struct pollfd){ .fd = clients->ending.fd, .events = POLLIN };
	clients->fds[CLIENTS_LISTENER] = (struct pollfd){ .fd = clients->place.listener };
	clients_switched(clients, serve_current(clients->serve));
	return thread_start(&clients->thread, 1, &setup, err);
}

int clients_start(struct serve *serve, struct error *err)
{
	struct clients *clients = calloc(1, sizeof(*clients));

	if (!clients)
		return error_no_memory(err);
	clients->serve = serve;
	clients->place = RENDEZVOUS_NONE;
	clients->ending.fd = -1;
	if (clients_run(clients, &clients->why) < 0) {
		log_warn("programs cannot read past the mount, as there is no socket: %s", clients->why.reason);
		state_free(clients->state);
		clients->state = NULL;
		rendezvous_close(&clients->place);
	} else {
		cache_folder_announce(serve, clients->place.name, clients->place.path);
	}
	serve->clients = clients;
	return 0;
}

void clients_settle(struct clients *clients, dev_t device)
{
	atomic_store(&clients->device, device);
}

void clients_switched(struct clients *clients, const struct generation *generation)
{
	if (clients->state)
		state_publish(clients->state, generation->key);
}

void clients_renew(struct clients *clients)
{
	if (clients->state)
		state_renew(clients->state);
}

bool clients_stop(struct clients *clients)
{
	bool has_ended = true;

	if (!clients)
		return true;
	if (clients->thread.runs) {
		atomic_store(&clients->ended, true);
		wake_up(&clients->ending);
		has_ended = thread_join_soon(&clients->thread);
		state_publish(clients->state, 0);
	}
	if (!has_ended)
		log_warn("the device holds a client's open of the volume back, the daemon ends without it");
	rendezvous_withdraw(&clients->place);
	return has_ended;
}

void clients_free(struct clients *clients)
{
	if (!clients)
		return;
	rendezvous_close(&clients->place);
	wake_close(&clients->ending);
	state_free(clients->state);
	free(clients);
}

/* ---- reports about clients ---- */

const struct clients_counters *clients_counters(const struct clients *clients)
{
	return &clients->counters;
}

const char *clients_reason(const struct clients *clients)
{
	return clients->why.reason;
}

void clients_tell(const struct clients *clients, struct dsfs_daemon_facts *ret)
{
	*ret = (struct dsfs_daemon_facts){ .protocol = CLIENT_PROTOCOL };
	snprintf(ret->socket, sizeof(ret->socket), "%s", clients->place.path);
	snprintf(ret->reason, sizeof(ret->reason), "%s", clients->why.reason);
}

void clients_write(struct serve *serve, struct json *json)
{
	const struct clients *clients = serve->clients;

	json_begin_object(json, NULL);
	json_number(json, DSFS_CONTROL_PROTOCOL, CLIENT_PROTOCOL);
	json_string(json, DSFS_CONTROL_SOCKET, clients->place.path);
	json_string(json, DSFS_CONTROL_REASON, clients->why.reason);
	json_end_object(json);
	fputc('\n', json->out);
}
