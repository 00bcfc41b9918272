/* SPDX-License-Identifier: MIT */
/* Receives what client/meeting.h has connected to. Nothing is sent before the greeting: the mount names the socket,
 * which any user may have made. */
#include "lib/direct/daemon/link.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/program/passing.h"
#include "cache/view.h"
#include "client/meeting.h"
#include "client/state.h"
#include "datasetfs/control.h"
#include "image/catalogue/catalogue.h"
#include "lib/direct/daemon/several.h"
#include "lib/forked.h"
#include "lib/high.h"
#include "lib/question.h"

#define LINK_TIMEOUT 10000 /* ms within which the daemon must answer */
#define LINK_PRIME   UINT64_C(0x100000001b3)

struct link {
	/* These change with the daemon, under forked_lock(); the page behind state, too. */
	_Atomic int fd;
	_Atomic uint64_t inode;  /* of the socket, as the program may have replaced the descriptor */
	_Atomic uint64_t volume; /* from the state page, when the version was handed over */
	const struct state_view *state;
	_Atomic(struct view *) view; /* lent, and not taken yet */
	uint64_t key; /* of the version, in the state page of each daemon of the mount */
	uint64_t sequence;
	uint8_t uuid[16];
	uint64_t members; /* from link_print(): identifies the files of the volume's descriptors */
	struct link_place place;
};

/* ---- the daemon's address ---- */

/* Whether the mount's text has an end and nothing in it that a terminal obeys. */
static bool link_is_text(const char *text, size_t room)
{
	size_t length = strnlen(text, room);

	for (size_t i = 0; i < length; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return length < room;
}

static int link_ask_mount(int mount, struct link_place *place, struct error *err)
{
	struct dsfs_daemon_facts facts = { 0 };
	int r = question_ask(mount, DSFS_IOC_DAEMON, &facts, err);

	if (r < 0)
		return r;
	if (!link_is_text(facts.socket, sizeof(facts.socket)) || !link_is_text(facts.reason, sizeof(facts.reason)))
		return error_set(err, -EBADMSG, "the mount names a socket or a reason that is not printable ASCII");
	if (!*facts.socket)
		return error_set(err, -EOPNOTSUPP, "the daemon of the mount has no socket: %s", facts.reason);
	static_assert(sizeof(place->socket) == sizeof(facts.socket), "both are what sockaddr_un has room for");
	memcpy(place->socket, facts.socket, sizeof(place->socket));
	return 0;
}

static int link_find_root(int mount, char root[PATH_MAX], struct error *err)
{
	return fdname_path(mount, root, PATH_MAX) < 0 ? error_errno(err, "the path of the mount") : 0;
}

/* Notes which version has the folder: it stays the folder's when the mount switches. */
static int link_find_folder(int mount, uint64_t folder, struct link_place *place, struct error *err)
{
	struct dsfs_version_facts facts = { 0 };
	int r = question_ask(mount, DSFS_IOC_VERSION, &facts, err);

	if (r < 0)
		return r;
	if (!facts.sequence || facts.sequence != folder >> DSFS_ORDINAL_BITS)
		return error_set(err, -EBADMSG, "the mount says that inode %" PRIu64 " is of the version with sequence "
				 "%" PRIu64, folder, facts.sequence);
	place->folder = folder;
	place->sequence = facts.sequence;
	memcpy(place->uuid, facts.uuid, sizeof(place->uuid));
	return 0;
}

int link_find(int mount, struct link_place *ret, struct error *err)
{
	struct link_place place = { 0 };
	struct stat st;
	int r;

	if (fstat(mount, &st) < 0)
		return error_errno(err, "the mount");
	r = link_ask_mount(mount, &place, err);
	if (r < 0)
		return r;
	place.device = st.st_dev;
	r = link_find_root(mount, place.root, err);
	if (r == 0 && question_is_part(&st))
		r = link_find_folder(mount, st.st_ino, &place, err);
	if (r == 0)
		*ret = place;
	return r;
}

/* ---- receiving ---- */

static int link_ask(int fd, const struct link_place *place, uint64_t sequence, const uint8_t *uuid,
		    struct passing_packet *ret, struct error *err)
{
	struct client_open query = { .sequence = sequence,
				     .device_major = major(place->device),
				     .device_minor = minor(place->device) };
	int r;

	client_begin(&query.head, CLIENT_OPEN, sizeof(query));
	if (sequence)
		memcpy(query.uuid, uuid, sizeof(query.uuid));
	r = passing_send(fd, &query, sizeof(query), NULL, 0, err);
	if (r == 0)
		r = passing_receive(fd, LINK_TIMEOUT, CLIENT_FDS, ret, err);
	return r;
}

/* Checks that the members are those of the version, and notes which groups none of them has. */
static int link_note_members(const struct client_opened *opened, struct array_source *volume, struct members *members,
			     struct error *err)
{
	uint32_t count = members->count ? members->count : 1;
	int r;

	if (volume->count != count)
		return error_set(err, -EPROTO, "the volume that came has %" PRIu32 " members, the version has %" PRIu32,
				 volume->count, count);
	if (!members->count)
		return 0;
	r = several_take(volume, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++)
		members_note(members, i, opened->missing_from[i]);
	return members_tolerate(members) ? 0 : error_set(err, -ENOLINK,
							  "of the members that came some have no copies");
}

/* Takes the index's descriptor. */
static int link_take_version(struct passing_packet *packet, const struct client_opened *opened,
			     struct link_version *version, struct error *err)
{
	int r = opened_version_receive(packet->fds[CLIENT_RECORD], &packet->fds[CLIENT_INDEX], &version->opened, err);

	return r < 0 ? r : link_note_members(opened, version->volume, &version->opened.index->members, err);
}

static int link_take_member(int *fd, struct array_source *array, uint32_t member, struct error *err)
{
	struct file_source *file;
	int r = file_adopt(*fd, &file, err);

	if (r < 0)
		return error_wrap(err, r, "the volume");
	(void)take_fd(fd);
	(void)array_put(array, member, file);
	return 0;
}

/* Returns how many slots the volume has, after a check that every member that came has one. */
static int link_check_slots(const struct client_opened *opened, unsigned came, uint32_t *ret, struct error *err)
{
	uint32_t slots = opened->slots, there = 0;

	for (uint32_t i = 0; slots <= DSFS_MEMBER_MAX + 1 && i < slots; i++)
		there += client_has(opened, i);
	if (there != came)
		return error_set(err, -EPROTO, "%u members of the volume came, expected %" PRIu32 " of %" PRIu32, came,
				 there, slots);
	*ret = slots;
	return 0;
}

/* Receives the members. first: the first descriptor of those behind the first member. A slot may stay empty. */
static int link_take_volume(struct passing_packet *packet, unsigned first, const struct client_opened *opened,
			    struct link_version *version, struct error *err)
{
	unsigned at = CLIENT_VOLUME;
	uint32_t slots = 0;
	int r = link_check_slots(opened, 1 + packet->fd_count - first, &slots, err);

	if (r == 0)
		r = array_new(slots, &version->volume, err);
	for (uint32_t i = 0; r == 0 && i < slots; i++) {
		if (!client_has(opened, i))
			continue;
		r = link_take_member(&packet->fds[at], version->volume, i, err);
		at = at == CLIENT_VOLUME ? first : at + 1;
	}
	return r;
}

/* Reads the answer. *ret_first: the first descriptor of those behind the first member. */
static int link_read(const struct passing_packet *packet, struct client_opened *ret, unsigned *ret_first,
		     struct error *err)
{
	int r = client_check_answer(packet->bytes, packet->length, CLIENT_OPENED, sizeof(*ret), err);

	if (r < 0)
		return r;
	memcpy(ret, packet->bytes, sizeof(*ret));
	*ret_first = ret->key ? CLIENT_RECORD + 1 : CLIENT_INDEX;
	if (packet->fd_count < *ret_first)
		return error_set(err, -EPROTO, "%u descriptors came, expected %u", packet->fd_count, *ret_first);
	return 0;
}

/* A number that differs if other members came, or other devices for them. first: as from link_read(). */
static uint64_t link_print(const struct passing_packet *packet, unsigned first, const struct client_opened *opened)
{
	uint64_t print = opened->slots;
	unsigned at = CLIENT_VOLUME;

	for (uint32_t i = 0; i < opened->slots && i < CLIENT_SLOTS; i++) {
		struct stat st = { .st_ino = 0 };

		if (!client_has(opened, i) || at >= packet->fd_count)
			continue;
		(void)fstat(packet->fds[at], &st);
		for (unsigned k = 0; k < 4; k++)
			print = (print ^ (uint64_t[]){ i, st.st_dev, st.st_ino, st.st_rdev }[k]) * LINK_PRIME;
		at = at == CLIENT_VOLUME ? first : at + 1;
	}
	return print;
}

static int link_take(struct link *link, struct passing_packet *packet, struct link_version *version,
		     struct client_opened *ret, struct error *err)
{
	struct client_opened opened;
	unsigned first;
	int r = link_read(packet, &opened, &first, err);

	if (r < 0)
		return r;
	*ret = opened;
	r = state_view_open(packet->fds[CLIENT_STATE], &link->state, err);
	link->members = link_print(packet, first, &opened);
	if (r == 0)
		r = link_take_volume(packet, first, &opened, version, err);
	if (r == 0 && opened.key)
		r = link_take_version(packet, &opened, version, err);
	link->key = opened.key;
	link->sequence = version->opened.version.sequence;
	memcpy(link->uuid, version->opened.version.uuid, sizeof(link->uuid));
	atomic_store(&link->volume, opened.volume);
	return r;
}

/* ---- the machine's cache ---- */

static int link_receive_cache(int fd, struct passing_packet *packet, struct error *err)
{
	struct client_cache query;
	int r;

	client_begin(&query.head, CLIENT_CACHE, sizeof(query));
	r = passing_send(fd, &query, sizeof(query), NULL, 0, err);
	if (r == 0)
		r = passing_receive(fd, LINK_TIMEOUT, CLIENT_CACHE_FDS, packet, err);
	if (r == 0)
		r = client_check_answer(packet->bytes, packet->length, CLIENT_CACHED, sizeof(struct client_cached),
					err);
	if (r == 0 && packet->fd_count != CLIENT_CACHE_FDS)
		return error_set(err, -EPROTO, "%u descriptors came, expected %d", packet->fd_count, CLIENT_CACHE_FDS);
	return r;
}

/* Asks for the cache. Nothing is said of one that cannot be had: the volume has all that is in it. */
static struct view *link_ask_cache(int fd, const struct client_opened *opened)
{
	struct passing_packet packet = { .fd_count = 0 };
	struct view *view = NULL;

	if (opened->has_cache && link_receive_cache(fd, &packet, NULL) == 0) {
		high_move(&packet.fds[CLIENT_CHUNKS]);
		if (view_borrow(packet.fds[CLIENT_TABLE], packet.fds[CLIENT_CHUNKS], &view, NULL) == 0)
			(void)take_fd(&packet.fds[CLIENT_CHUNKS]);
	}
	passing_close(&packet);
	return view;
}

struct view *link_take_view(struct link *link)
{
	if (!atomic_load_explicit(&link->view, memory_order_relaxed))
		return NULL;
	return atomic_exchange(&link->view, NULL);
}

/* Checks that the version that came was asked for. sequence 0: the served one, which the daemon always has open. */
static int link_check_version(const struct link_version *got, uint64_t sequence, const uint8_t *uuid,
			      struct error *err)
{
	const struct version *version = &got->opened.version;

	if (!sequence && !got->opened.index)
		return error_set(err, -EPROTO, "no index came of the version that the mount serves");
	if (sequence && got->opened.index &&
	    (version->sequence != sequence || memcmp(version->uuid, uuid, sizeof(version->uuid)) != 0))
		return error_set(err, -EPROTO, "version '%s' with sequence %" PRIu64 " came, and was not asked for",
				 version->label, version->sequence);
	return 0;
}

static uint64_t link_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
}

static int link_fill(struct link *link, uint64_t sequence, const uint8_t *uuid, struct link_version *version,
		     struct error *err)
{
	struct passing_packet packet = { .fd_count = 0 };
	struct client_opened opened = { .key = 0 };
	int fd = -1, r = meeting_connect(link->place.socket, LINK_TIMEOUT, &fd, err);

	if (r < 0)
		return r;
	high_move(&fd);
	atomic_store(&link->fd, fd);
	atomic_store(&link->inode, link_inode(fd));
	r = link_ask(fd, &link->place, sequence, uuid, &packet, err);
	if (r == 0)
		r = link_take(link, &packet, version, &opened, err);
	if (r == 0)
		r = link_check_version(version, sequence, uuid, err);
	if (r == 0)
		atomic_store(&link->view, link_ask_cache(fd, &opened));
	passing_close(&packet);
	return r;
}

int link_open(const struct link_place *place, uint64_t sequence, const uint8_t *uuid, struct link **ret,
	      struct link_version *ret_version, struct error *err)
{
	struct link *link = calloc(1, sizeof(*link));
	struct link_version version = { .volume = NULL };
	int r;

	if (!link)
		return error_no_memory(err);
	atomic_store(&link->fd, -1);
	link->place = *place;
	r = link_fill(link, sequence, uuid, &version, err);
	if (r < 0) {
		link_version_close(&version);
		link_close(link);
		return r;
	}
	*ret = link;
	*ret_version = version;
	return 0;
}

void link_version_close(struct link_version *version)
{
	opened_version_close(&version->opened);
	array_close(version->volume);
	version->volume = NULL;
}

/* The connection; -1: the program closed it, and may have the number for something else. */
static int link_fd(const struct link *link)
{
	int fd = atomic_load(&link->fd);

	return fd >= 0 && link_inode(fd) == atomic_load(&link->inode) ? fd : -1;
}

void link_close(struct link *link)
{
	int fd = link ? link_fd(link) : -1;

	if (!link)
		return;
	if (fd >= 0)
		close(fd);
	view_return(atomic_load(&link->view));
	state_view_close(link->state);
	free(link);
}

/* ---- after the version came ---- */

const struct link_place *link_place(const struct link *link)
{
	return &link->place;
}

static uint64_t link_volume(const struct link *link)
{
	return atomic_load_explicit(&link->volume, memory_order_relaxed);
}

bool link_is_current(const struct link *link)
{
	return state_view_key(link->state) == link->key && state_view_volume(link->state) == link_volume(link);
}

void link_terms(const struct link *link, struct state_terms *ret)
{
	state_view_terms(link->state, ret);
}

uint32_t link_sharers(const struct link *link)
{
	return state_view_sharers(link->state);
}

bool link_lives(const struct link *link)
{
	return state_view_key(link->state) != 0;
}

bool link_has_moved(const struct link *link)
{
	return state_view_volume(link->state) != link_volume(link);
}

static void link_report_hits(int fd, struct view *view)
{
	struct client_hits hits = { .at = 0 };

	client_begin(&hits.head, CLIENT_HITS, sizeof(hits));
	for (; view_take_hits(view, &hits.at, hits.bits, CLIENT_HIT_WORDS); hits.at += CLIENT_HIT_WORDS)
		(void)!passing_send(fd, &hits, sizeof(hits), NULL, 0, NULL);
}

bool link_report(const struct link *link, const uint64_t counts[CLIENT_COUNTS], struct view *view)
{
	struct client_report report;
	int fd;

	if (!link_lives(link))
		return false;
	fd = link_fd(link);
	client_begin(&report.head, CLIENT_REPORT, sizeof(report));
	memcpy(report.counts, counts, sizeof(report.counts));
	if (fd >= 0)
		(void)!passing_send(fd, &report, sizeof(report), NULL, 0, NULL);
	if (fd >= 0 && view)
		link_report_hits(fd, view);
	return true;
}

/* ---- another daemon of the mount ---- */

/* Puts the connection in the place of the former one, under its number if the program has left us that. */
static void link_replace_fd(struct link *link, int *fd)
{
	int former = link_fd(link);
	uint64_t inode = link_inode(*fd);

	if (former < 0 || dup3(*fd, former, O_CLOEXEC) < 0)
		atomic_store(&link->fd, take_fd(fd));
	atomic_store(&link->inode, inode);
}

/* Takes the connection and the state page of a daemon that has not been here, unless another thread did. Counts of
 * openings begin anew with it: the members show whether the volume was opened again. */
static int link_replace(struct link *link, int *fd, struct passing_packet *packet, struct error *err)
{
	struct client_opened opened;
	struct view *view;
	unsigned first;
	bool has_moved;
	int r = link_read(packet, &opened, &first, err);

	if (r < 0)
		return r;
	view = link_ask_cache(*fd, &opened);
	high_move(fd);
	forked_lock();
	if (!link_lives(link)) {
		if (view)
			view = atomic_exchange(&link->view, view);
		has_moved = link_has_moved(link) || link_print(packet, first, &opened) != link->members;
		atomic_store(&link->volume, has_moved ? ~opened.volume : opened.volume);
		link_replace_fd(link, fd);
		r = state_view_replace(link->state, packet->fds[CLIENT_STATE], err); /* last: it is what others see */
	}
	forked_unlock();
	view_return(view);
	return r;
}

/* Names of sockets are random, so whoever listens there serves the mount that the version came from. */
static int link_connect_again(struct link *link, struct error *err)
{
	struct passing_packet packet = { .fd_count = 0 };
	auto_close int fd = -1;
	int r = meeting_connect(link->place.socket, LINK_TIMEOUT, &fd, err);

	if (r == 0)
		r = link_ask(fd, &link->place, link->sequence, link->uuid, &packet, err);
	if (r == 0)
		r = link_replace(link, &fd, &packet, err);
	passing_close(&packet);
	return r;
}

bool link_goes_on(struct link *link)
{
	return link_lives(link) || (link_connect_again(link, NULL) == 0 && link_lives(link));
}
