/* SPDX-License-Identifier: MIT */
/* Opens the daemon's own descriptors again through /proc/self/fd, so that a client shares no open file description. */
#include "serve/clients/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "client/state.h"
#include "serve/cache/cached_chunks.h"
#include "serve/clients/handout.h"

/* Takes a use of the version that the client asks for; sequence 0: the mount's. NULL: it is not open. */
static struct generation *answer_find(struct serve *serve, const struct client_open *query)
{
	struct generations *generations = &serve->generations;
	struct generation *generation;

	pthread_mutex_lock(&generations->lock); /* a version in the table is not closed while it is held */
	generation = query->sequence ? generations_find(generations, query->sequence) :
				      atomic_load(&generations->announced);
	if (generation && query->sequence &&
	    memcmp(generation->opened.version.uuid, query->uuid, sizeof(query->uuid)) != 0)
		generation = NULL;
	if (generation)
		generation_get(generation);
	pthread_mutex_unlock(&generations->lock);
	return generation;
}

static int answer_open_version(const struct generation *generation, int *ret_index, int *ret_record, struct error *err)
{
	int r = handout_reopen(generation->opened.index->memfd, 0, "the index", ret_index, err);

	return r < 0 ? r : handout_reopen(generation->record, 0, "the version's record", ret_record, err);
}

static int answer_check_device(uint64_t device, const struct client_open *query, struct error *err)
{
	if (!device)
		return error_set(err, -EAGAIN, "the mount is coming up");
	if (makedev(query->device_major, query->device_minor) == device)
		return 0;
	return error_set(err, -EXDEV, "this socket belongs to the mount with device %u:%u, asked for %u:%u",
			 major(device), minor(device), query->device_major, query->device_minor);
}

static int answer_put_member(const struct serve *serve, uint32_t member, const struct credentials *peer, int *ret,
			     struct error *err)
{
	const struct array_source *volume = serve->volume.array;

	bool is_direct = file_is_direct(&volume->geometry[member]);

	return handout_open(peer, volume->fds[member], is_direct ? O_DIRECT : 0, "the volume", ret, err);
}

/* The number of further members that could be lost without losing a byte of this version. */
static uint32_t answer_spare(const struct serve *serve, const struct generation *generation)
{
	uint32_t spare = generation ? members_spare(&generation->opened.index->members) : 0;

	for (uint32_t i = 0; spare && i < generation->opened.index->member_count; i++)
		spare -= !array_has(serve->volume.array, i);
	return spare;
}

/* Tells what each member lacks: all, if it is not there, or if it is suspect and the client can do without it. */
static void answer_note_members(struct serve *serve, const struct generation *generation, struct client_opened *message)
{
	const struct serve_volume *volume = &serve->volume;
	uint32_t spare = volume->route ? answer_spare(serve, generation) : 0;

	message->slots = generation ? generation->opened.index->member_count : volume->array->count;
	for (uint32_t i = 0; i < message->slots; i++) {
		if (!array_has(volume->array, i)) {
			message->missing_from[i] = 1;
		} else if (spare && route_is_suspect(volume->route, i, clock_now())) {
			message->missing_from[i] = 1;
			spare--;
			atomic_store(&serve->due.offer, true);
		} else if (generation) {
			message->missing_from[i] = members_missing_from(&generation->opened.index->members, i);
		}
	}
}

/* The first member that is handed over goes to CLIENT_VOLUME, the others behind the fixed descriptors. */
static int answer_put_volume(const struct serve *serve, const struct credentials *peer, struct answer *answer,
			     struct error *err)
{
	unsigned at = CLIENT_VOLUME;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < answer->message.slots; i++) {
		if (!client_has(&answer->message, i))
			continue;
		if (at == CLIENT_FDS)
			return error_set(err, -EOPNOTSUPP,
					 "the volume has more than the %u members that can be handed over",
					 CLIENT_MEMBERS);
		r = answer_put_member(serve, i, peer, &answer->fds[at], err);
		answer->fd_count += at != CLIENT_VOLUME;
		at = answer->fd_count;
	}
	return r;
}

/* Opens the volume after the index and the state, as a device that hangs may keep us there. */
static int answer_fill(struct serve *serve, const struct state *state, const struct generation *generation,
		       const struct credentials *peer, struct answer *answer, struct error *err)
{
	int r = 0;

	if (generation) {
		answer->message.key = generation->key;
		answer->fd_count = CLIENT_RECORD + 1;
		r = answer_open_version(generation, &answer->fds[CLIENT_INDEX], &answer->fds[CLIENT_RECORD], err);
	}
	if (r == 0)
		r = handout_reopen(state_fd(state), 0, "the state", &answer->fds[CLIENT_STATE], err);
	answer->message.volume = state_volume(state);
	if (r < 0)
		return r;
	answer_note_members(serve, generation, &answer->message);
	return answer_put_volume(serve, peer, answer, err);
}

int answer_make(struct serve *serve, const struct state *state, uint64_t device, const struct credentials *peer,
		const struct client_open *query, struct answer *ret, struct error *err)
{
	struct answer answer = { .fd_count = CLIENT_INDEX };
	struct generation *generation;
	int r = answer_check_device(device, query, err);

	if (r < 0)
		return r;
	memset(answer.fds, -1, sizeof(answer.fds));
	generation = answer_find(serve, query);
	r = answer_fill(serve, state, generation, peer, &answer, err);
	generation_put(generation);
	if (r < 0) {
		answer_close(&answer);
		return r;
	}
	client_begin(&answer.message.answer.head, CLIENT_OPENED, sizeof(answer.message));
	answer.message.has_cache = cached_chunks_store(serve) != NULL;
	*ret = answer;
	return 0;
}

int answer_lend(struct serve *serve, const struct client_borrow *query, int fds[CLIENT_LENT_FDS], struct error *err)
{
	struct client_open wanted = { .sequence = query->sequence };
	struct generation *generation = NULL;
	int r;

	memcpy(wanted.uuid, query->uuid, sizeof(wanted.uuid));
	if (wanted.sequence && !memcmp(query->volume_uuid, serve->volume.uuid, sizeof(query->volume_uuid)))
		generation = answer_find(serve, &wanted);
	if (!generation)
		return error_set(err, -ENOENT, "the mount does not have this version open");
	r = answer_open_version(generation, &fds[CLIENT_LENT_INDEX], &fds[CLIENT_LENT_RECORD], err);
	generation_put(generation);
	return r;
}

int answer_cache(const struct serve *serve, const struct credentials *peer, int fds[CLIENT_CACHE_FDS],
		 struct error *err)
{
	const struct store *store = cached_chunks_store(serve);
	int r;

	if (!store)
		return error_set(err, -ENOENT, "the mount keeps nothing of the volume on this machine");
	r = handout_reopen(store->table.fd, 0, "the table of the cache", &fds[CLIENT_TABLE], err);
	if (r == 0)
		r = handout_open(peer, store->data, fcntl(store->data, F_GETFL) & O_DIRECT, "the cache",
				 &fds[CLIENT_CHUNKS], err);
	return r;
}

void answer_close(struct answer *answer)
{
	for (unsigned i = 0; i < CLIENT_FDS; i++)
		close_fd(&answer->fds[i]);
}
