/* SPDX-License-Identifier: MIT */
/* Sends single messages from any thread, and receives in one. The socket stays open until keep_close(), also when the
 * supervisor has ended, as a thread may be about to send. */
#include "supervisor/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program/passing.h"
#include "base/text/parse.h"
#include "supervisor/fdstore.h"
#include "supervisor/message.h"
#include "supervisor/page.h"

#define KEEP_BEGIN_WAIT 30000          /* ms until the supervisor must have sent all */
#define KEEP_ROOM_WAIT  INT64_C(1000000000) /* ns to wait for room in the socket, and for the end of the supervisor's */

struct keep {
	int socket;
	pid_t supervisor;
	uint32_t restarts;
	struct fdstore kept;
	struct supervisor_page *page; /* NULL: none */
	atomic_bool is_lost;
	bool is_rehearsal, has_answer;
	struct keep_answer answer;
};

/* Outlives the struct, as the kernel looks at it when the thread ends. */
static struct life_holder keep_holder;
static _Atomic(struct supervisor_page *) keep_page; /* for a signal's handler; NULL: there is none */

/* ---- coming up ---- */

/* The variable may be left over, and then its number another file's. */
static int keep_check(int fd, pid_t *ret_supervisor, struct error *err)
{
	struct ucred peer;
	socklen_t size = sizeof(int), peer_size = sizeof(peer);
	int type = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) < 0 || peer.uid != geteuid())
		return error_set(err, -EINVAL, "descriptor %d is not the socket of a supervisor", fd);
	*ret_supervisor = peer.pid;
	return 0;
}

static int keep_find(int *ret_fd, pid_t *ret_supervisor, struct error *err)
{
	const char *text = getenv(SUPERVISOR_VARIABLE);
	uint64_t number;
	int r;

	if (!text)
		return -ENOENT;
	r = parse_u64(text, STDERR_FILENO + 1, INT32_MAX, &number, err);
	if (r == 0)
		r = keep_check((int)number, ret_supervisor, err);
	if (r < 0)
		return error_wrap(err, r, SUPERVISOR_VARIABLE);
	fcntl((int)number, F_SETFD, FD_CLOEXEC);
	unsetenv(SUPERVISOR_VARIABLE);
	*ret_fd = (int)number;
	return 0;
}

/* The page stays mapped: it is written when the thread ends. */
static int keep_live(struct keep *keep, int fd, struct error *err)
{
	struct supervisor_page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return error_errno(err, "cannot map the page in which the supervisor sees a death");
	life_begin(&page->life, &keep_holder);
	keep->page = page;
	atomic_store(&keep_page, page);
	return 0;
}

void keep_crash(int signal)
{
	struct supervisor_page *page = atomic_load(&keep_page);

	if (!page)
		return;
	atomic_store(&page->crashed, (uint32_t)signal);
	life_end(&page->life);
}

/* Stores the packet's descriptor, if it has one. */
static int keep_receive_kept(struct keep *keep, const struct supervisor_message *message,
			     struct passing_packet *packet, struct error *err)
{
	if (!packet->fd_count)
		return error_set(err, -EPROTO, "a message of the supervisor without its descriptor '%s'",
				 message->name);
	if (!strcmp(message->name, SUPERVISOR_LIFE))
		return keep_live(keep, packet->fds[0], err);
	return fdstore_put(&keep->kept, message->name, take_fd(&packet->fds[0]), err);
}

static int keep_parse(const struct passing_packet *packet, struct supervisor_message *ret, struct error *err)
{
	if (packet->length < sizeof(*ret))
		return error_set(err, -EPROTO, "a message of %zu bytes, expected %zu", packet->length, sizeof(*ret));
	memcpy(ret, packet->bytes, sizeof(*ret));
	return memchr(ret->name, 0, sizeof(ret->name)) ? 0 :
		error_set(err, -EPROTO, "the name in a message has no NUL");
}

/* Takes the end of an upgrade. */
static void keep_take_answer(struct keep *keep, const struct passing_packet *packet)
{
	struct supervisor_packet heard = { 0 };

	memcpy(&heard, packet->bytes, packet->length < sizeof(heard) ? packet->length : sizeof(heard));
	heard.text[sizeof(heard.text) - 1] = 0;
	keep->has_answer = true;
	error_set(&keep->answer.why, -(int)(heard.message.number & 0xfff), "%s", heard.text);
	memcpy(keep->answer.name, heard.message.name, sizeof(keep->answer.name));
}

static int keep_receive_all(struct keep *keep, struct error *err)
{
	struct supervisor_message message = { 0 };
	struct passing_packet packet;
	int r = 0;

	while (r == 0 && message.kind != SUPERVISOR_BEGIN) {
		r = passing_receive(keep->socket, KEEP_BEGIN_WAIT, 1, &packet, err);
		if (r < 0)
			return r;
		r = keep_parse(&packet, &message, err);
		if (r == 0 && message.kind == SUPERVISOR_KEPT)
			r = keep_receive_kept(keep, &message, &packet, err);
		else if (r == 0 && message.kind == SUPERVISOR_UPGRADED)
			keep_take_answer(keep, &packet);
		keep->is_rehearsal |= r == 0 && message.kind == SUPERVISOR_TRY;
		passing_close(&packet);
	}
	keep->restarts = message.number;
	return r;
}

static void keep_free(struct keep *keep)
{
	fdstore_clear(&keep->kept, NULL);
	close(keep->socket);
	free(keep);
}

int keep_open(struct keep **ret, struct error *err)
{
	auto_close int fd = -1;
	pid_t supervisor = 0;
	struct keep *keep;
	int r = keep_find(&fd, &supervisor, err);

	if (r < 0) {
		*ret = NULL;
		return r == -ENOENT ? 0 : r;
	}
	/* Executed by a descriptor, the program has the descriptor's number as its name in process lists. */
	prctl(PR_SET_NAME, program_invocation_short_name);
	keep = calloc(1, sizeof(*keep));
	if (!keep)
		return error_no_memory(err);
	keep->socket = take_fd(&fd);
	keep->supervisor = supervisor;
	r = keep_receive_all(keep, err);
	if (r < 0) {
		keep_free(keep);
		return error_wrap(err, r, "cannot receive what the supervisor keeps");
	}
	*ret = keep;
	return 0;
}

bool keep_is_successor(const struct keep *keep)
{
	return keep && keep->restarts;
}

uint32_t keep_restarts(const struct keep *keep)
{
	return keep ? keep->restarts : 0;
}

bool keep_is_rehearsal(const struct keep *keep)
{
	return keep && keep->is_rehearsal;
}

const struct keep_answer *keep_upgraded(const struct keep *keep)
{
	return keep && keep->has_answer ? &keep->answer : NULL;
}

_Atomic uint32_t *keep_notices(const struct keep *keep)
{
	return keep && keep->page ? &keep->page->notices : NULL;
}

pid_t keep_supervisor(const struct keep *keep)
{
	return keep ? keep->supervisor : 0;
}

/* ---- sending ---- */

/* A name that is cut off would be another's. */
static int keep_fill(struct supervisor_message *ret, uint32_t kind, const char *fmt, va_list ap, struct error *err)
{
	*ret = (struct supervisor_message){ .kind = kind };
	if ((size_t)vsnprintf(ret->name, sizeof(ret->name), fmt, ap) < sizeof(ret->name))
		return 0;
	return error_set(err, -ENAMETOOLONG, "the name '%s' of a descriptor is too long", ret->name);
}

/* Waits until there is room again, in ms at most. -ETOOMANYREFS cannot be polled. */
static void keep_wait(const struct keep *keep, int code, int64_t limit)
{
	struct pollfd fd = { .fd = keep->socket, .events = code == -EAGAIN ? POLLOUT : 0 };

	poll(&fd, 1, code == -EAGAIN ? (int)limit : 1);
}

/* Succeeds when the supervisor has ended. */
static int keep_send_bytes(const struct keep *keep, const struct supervisor_message *message, size_t length, int fd,
			   struct error *err)
{
	const int64_t until = clock_now() + KEEP_ROOM_WAIT;
	int64_t left = KEEP_ROOM_WAIT;
	int r = 0;

	while (!atomic_load(&keep->is_lost)) {
		r = passing_send(keep->socket, message, length, &fd, fd >= 0, err);
		left = until - clock_now();
		if ((r != -EAGAIN && r != -ETOOMANYREFS) || left <= 0)
			break;
		keep_wait(keep, r, left / 1000000 + 1);
	}
	if (r == -EPIPE || r == -ECONNRESET)
		return 0;
	return r < 0 ? error_wrap(err, r, "the supervisor cannot keep '%s'", message->name) : 0;
}

static int keep_send(const struct keep *keep, const struct supervisor_message *message, int fd, struct error *err)
{
	return keep_send_bytes(keep, message, sizeof(*message), fd, err);
}

int keep_put(struct keep *keep, int fd, struct error *err, const char *fmt, ...)
{
	struct supervisor_message message;
	va_list ap;
	int r;

	if (!keep)
		return 0;
	va_start(ap, fmt);
	r = keep_fill(&message, SUPERVISOR_PUT, fmt, ap, err);
	va_end(ap);
	return r < 0 ? r : keep_send(keep, &message, fd, err);
}

/* Sends a message without a descriptor. What does not arrive is only logged. */
static void keep_tell(const struct keep *keep, const struct supervisor_message *message)
{
	struct error err = { 0 };

	if (keep_send(keep, message, -1, &err) < 0)
		log_warn("%s, ignoring", err.reason);
}

void keep_drop(struct keep *keep, const char *fmt, ...)
{
	struct supervisor_message message;
	va_list ap;

	if (!keep)
		return;
	va_start(ap, fmt);
	if (keep_fill(&message, SUPERVISOR_DROP, fmt, ap, NULL) == 0)
		keep_tell(keep, &message);
	va_end(ap);
}

static void keep_say(const struct keep *keep, uint32_t kind)
{
	const struct supervisor_message message = { .kind = kind };

	if (keep)
		keep_tell(keep, &message);
}

void keep_ready(struct keep *keep)
{
	keep_say(keep, SUPERVISOR_READY);
}

void keep_beat(struct keep *keep)
{
	keep_say(keep, SUPERVISOR_BEAT);
}

void keep_heard(struct keep *keep, uint32_t signal)
{
	const struct supervisor_message message = { .kind = SUPERVISOR_HEARD, .number = signal };

	if (keep)
		keep_tell(keep, &message);
}

/* ---- upgrades ---- */

int keep_upgrade(struct keep *keep, int program, const char *name, struct error *err)
{
	struct supervisor_message message = { .kind = SUPERVISOR_UPGRADE };

	snprintf(message.name, sizeof(message.name), "%s", name);
	return keep_send(keep, &message, program, err);
}

void keep_prepared(struct keep *keep)
{
	keep_say(keep, SUPERVISOR_PREPARED);
}

void keep_refuse(struct keep *keep, const struct error *err)
{
	struct supervisor_packet packet = { .message = { .kind = SUPERVISOR_REFUSED, .number = (uint32_t)-err->code } };
	struct error why = { 0 };

	snprintf(packet.text, sizeof(packet.text), "%s", err->reason);
	if (keep_send_bytes(keep, &packet.message, sizeof(packet), -1, &why) < 0)
		log_warn("%s, ignoring", why.reason);
}

/* ---- receiving ---- */

int keep_take(struct keep *keep, const char *fmt, ...)
{
	char name[SUPERVISOR_NAME];
	va_list ap;

	if (!keep)
		return -1;
	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	return fdstore_take(&keep->kept, name);
}

static const struct fdstore_entry *keep_find_left(const struct keep *keep, const char *prefix)
{
	for (size_t i = 0; keep && i < keep->kept.count; i++)
		if (!strncmp(keep->kept.items[i].name, prefix, strlen(prefix)))
			return &keep->kept.items[i];
	return NULL;
}

bool keep_has_left(const struct keep *keep, const char *prefix)
{
	return keep_find_left(keep, prefix);
}

void keep_drop_left(struct keep *keep, const char *prefix)
{
	const struct fdstore_entry *entry;

	while ((entry = keep_find_left(keep, prefix))) {
		keep_drop(keep, "%s", entry->name);
		close(fdstore_take(&keep->kept, entry->name));
	}
}

int keep_fd(const struct keep *keep)
{
	return keep && !atomic_load(&keep->is_lost) ? keep->socket : -1;
}

static enum keep_kind keep_kind_of(uint32_t kind)
{
	switch (kind) {
	case SUPERVISOR_SIGNAL:
		return KEEP_SIGNAL;
	case SUPERVISOR_GONE:
		return KEEP_GONE;
	case SUPERVISOR_UPGRADED:
		return KEEP_UPGRADED;
	case SUPERVISOR_STOP:
		return KEEP_STOP;
	default: /* of a later release */
		return KEEP_NOTHING;
	}
}

struct keep_event keep_next(struct keep *keep)
{
	struct keep_event event = { KEEP_NOTHING, 0 };
	struct supervisor_message message;
	struct passing_packet packet;
	int r;

	if (keep_fd(keep) < 0)
		return event;
	r = passing_receive(keep->socket, 0, 1, &packet, NULL);
	if (r == 0 && keep_parse(&packet, &message, NULL) == 0) {
		event.kind = keep_kind_of(message.kind);
		event.number = message.number;
		if (event.kind == KEEP_UPGRADED)
			keep_take_answer(keep, &packet);
	} else if (r == -ECONNRESET || r == -EPIPE) {
		atomic_store(&keep->is_lost, true);
		event.kind = KEEP_LOST;
	}
	passing_close(&packet);
	return event;
}

/* ---- the end ---- */

void keep_end(struct keep *keep)
{
	int64_t until = clock_now() + KEEP_ROOM_WAIT;
	struct pollfd fd;

	if (!keep)
		return;
	keep_say(keep, SUPERVISOR_END);
	fd = (struct pollfd){ keep_fd(keep), POLLIN, 0 };
	while (keep_next(keep).kind != KEEP_LOST && keep_fd(keep) >= 0 && clock_now() < until)
		poll(&fd, 1, (int)((until - clock_now()) / 1000000 + 1));
}

void keep_close(struct keep *keep)
{
	keep_end(keep);
	if (keep)
		keep_free(keep);
}
