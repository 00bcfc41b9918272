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
#include "handover/state.h"
#include "handover/table.h"
#include "serve/clients/handout.h"
#include "serve/local/stored.h"

/* Takes a use of the version that the client asks for; sequence 0: the mount's. NULL: it is not open. */
static struct generation *answer_find(struct serve *serve, const struct handover_open *query)
{
	struct generations *generations = &serve->generations;
	struct generation *generation;

	pthread_mutex_lock(&generations->lock); /* a version in the table is not closed while it is held */
	generation = query->sequence ? generations_find(generations, query->sequence) :
				      atomic_load(&generations->announced);
	if (generation && query->sequence && memcmp(generation->version.uuid, query->uuid, sizeof(query->uuid)) != 0)
		generation = NULL;
	if (generation)
		generation_get(generation);
	pthread_mutex_unlock(&generations->lock);
	return generation;
}

static int answer_put_version(const struct serve *serve, const struct generation *generation, struct answer *answer,
			      struct error *err)
{
	struct handover_version *version = &answer->message.version;

	answer->message.key = generation->key;
	handover_put_version(&generation->version, generation->index, version);
	version->hidden_mode = generation->hidden_mode;
	memcpy(version->volume_uuid, serve->volume.uuid, sizeof(version->volume_uuid));
	return handout_reopen(generation->index->memfd, 0, "the index", &answer->fds[HANDOVER_INDEX], err);
}

static int answer_check_device(uint64_t device, const struct handover_open *query, struct error *err)
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
	uint32_t spare = generation ? members_spare(&generation->index->members) : 0;

	for (uint32_t i = 0; spare && i < serve->volume.array->count; i++)
		spare -= !array_has(serve->volume.array, i);
	return spare;
}

/* Sets the bits of members that are not there, and of suspect ones that the client can do without. */
static void answer_withhold(struct serve *serve, const struct generation *generation,
			    uint8_t ret[HANDOVER_SLOTS / 8])
{
	const struct serve_volume *volume = &serve->volume;
	uint32_t spare = volume->route ? answer_spare(serve, generation) : 0;

	for (uint32_t i = 0; i < volume->array->count; i++) {
		if (array_has(volume->array, i)) {
			if (!spare || !serve_is_suspect(serve, i))
				continue;
			spare--;
			atomic_store(&serve->due.offer, true);
		}
		ret[i / 8] |= (uint8_t)(1u << i % 8);
	}
}

/* The first member that is handed over goes to HANDOVER_VOLUME, the others behind the fixed descriptors. */
static int answer_put_volume(const struct serve *serve, const uint8_t *missing, const struct credentials *peer,
			     struct answer *answer, struct error *err)
{
	const struct array_source *volume = serve->volume.array;
	unsigned at = HANDOVER_VOLUME;
	int r = 0;

	answer->message.slots = volume->count;
	for (uint32_t i = 0; r == 0 && i < volume->count; i++) {
		if (missing[i / 8] >> i % 8 & 1)
			continue;
		if (at == HANDOVER_FDS - 1)
			return error_set(err, -EOPNOTSUPP,
					 "the volume has more than the %u members that can be handed over",
					 HANDOVER_MEMBERS);
		r = answer_put_member(serve, i, peer, &answer->fds[at], err);
		answer->message.there[i / 8] |= (uint8_t)(1u << i % 8);
		answer->fd_count += at != HANDOVER_VOLUME;
		at = answer->fd_count;
	}
	return r;
}

/* Hands over the table of members, which has no room in the message. Only for a volume of several members. */
static int answer_put_table(const struct generation *generation, const uint8_t *missing, struct answer *answer,
			    struct error *err)
{
	const struct members *members = &generation->index->members;
	int r;

	if (!members->count)
		return 0;
	r = table_write(members, &generation->version, generation->block_sums, missing,
			&answer->fds[answer->fd_count], err);
	if (r < 0)
		return r;
	answer->fd_count++;
	return 0;
}

/* Opens the volume after the index and the state, as a device that hangs may keep us there. */
static int answer_fill(struct serve *serve, const struct state *state, const struct generation *generation,
		       const struct credentials *peer, struct answer *answer, struct error *err)
{
	uint8_t missing[HANDOVER_SLOTS / 8] = { 0 };
	int r = 0;

	if (generation) {
		r = answer_put_version(serve, generation, answer, err);
		answer->fd_count = HANDOVER_INDEX + 1;
	}
	if (r == 0)
		r = handout_reopen(state_fd(state), 0, "the state", &answer->fds[HANDOVER_STATE], err);
	answer->message.volume = state_volume(state);
	if (r < 0)
		return r;
	answer_withhold(serve, generation, missing);
	r = answer_put_volume(serve, missing, peer, answer, err);
	if (r == 0 && generation)
		r = answer_put_table(generation, missing, answer, err);
	return r;
}

int answer_make(struct serve *serve, const struct state *state, uint64_t device, const struct credentials *peer,
		const struct handover_open *query, struct answer *ret, struct error *err)
{
	struct answer answer = { .fd_count = HANDOVER_INDEX };
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
	handover_begin(&answer.message.answer.head, HANDOVER_OPENED, sizeof(answer.message));
	answer.message.has_cache = stored_store(serve) != NULL;
	*ret = answer;
	return 0;
}

int answer_lend(struct serve *serve, const struct handover_borrow *query, int *ret, struct error *err)
{
	struct handover_open wanted = { .sequence = query->version.sequence };
	struct handover_borrow own = { .sha256 = { 0 } };
	struct generation *generation = NULL;
	int r = -ENOENT;

	memcpy(wanted.uuid, query->version.uuid, sizeof(wanted.uuid));
	if (wanted.sequence)
		generation = answer_find(serve, &wanted);
	if (generation) {
		handover_put_wish(&generation->version, generation->index, serve->volume.uuid, &own);
		if (!memcmp(own.sha256, query->sha256, sizeof(own.sha256)) &&
		    !memcmp(&own.version, &query->version, sizeof(own.version)))
			r = handout_reopen(generation->index->memfd, 0, "the index", ret, err);
	}
	generation_put(generation);
	return r == -ENOENT ? error_set(err, r, "the mount does not have this version open") : r;
}

int answer_cache(const struct serve *serve, const struct credentials *peer, int fds[HANDOVER_CACHE_FDS],
		 struct error *err)
{
	const struct store *store = stored_store(serve);
	int r;

	if (!store)
		return error_set(err, -ENOENT, "the mount keeps nothing of the volume on this machine");
	r = handout_reopen(store->table.fd, 0, "the table of the cache", &fds[HANDOVER_TABLE], err);
	if (r == 0)
		r = handout_open(peer, store->data, fcntl(store->data, F_GETFL) & O_DIRECT, "the cache",
				 &fds[HANDOVER_CHUNKS], err);
	return r;
}

void answer_close(struct answer *answer)
{
	for (unsigned i = 0; i < HANDOVER_FDS; i++)
		close_fd(&answer->fds[i]);
}
