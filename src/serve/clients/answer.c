/* SPDX-License-Identifier: MIT */
/* Opens again, through /proc/self/fd, what the daemon has open. */
#include "serve/clients/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "handover/state.h"

static int answer_reopen(int fd, int flags, const char *what, int *ret, struct error *err)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*ret = open(path, O_RDONLY | O_CLOEXEC | flags);
	return *ret < 0 ? error_errno(err, "cannot open %s again", what) : 0;
}

/* With a use of it; NULL: it is not open. */
static struct generation *answer_find(struct serve *serve, const struct handover_open *wish)
{
	struct generations *generations = &serve->generations;
	struct generation *generation;

	pthread_mutex_lock(&generations->lock); /* while it is held, none is closed that is in the table */
	generation = wish->sequence ? generations_find(generations, wish->sequence) :
				      atomic_load(&generations->announced);
	if (generation && wish->sequence && memcmp(generation->version.uuid, wish->uuid, sizeof(wish->uuid)) != 0)
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
	memcpy(version->volume_uuid, serve->volume_uuid, sizeof(version->volume_uuid));
	return answer_reopen(generation->index->memfd, 0, "the index", &answer->fds[HANDOVER_INDEX], err);
}

static int answer_put_index(struct serve *serve, const struct handover_open *wish, struct answer *answer,
			    struct error *err)
{
	struct generation *generation = answer_find(serve, wish);
	int r;

	if (!generation)
		return 0;
	r = answer_put_version(serve, generation, answer, err);
	if (r == 0)
		answer->fd_count = HANDOVER_INDEX + 1;
	generation_put(generation);
	return r;
}

static int answer_check_device(uint64_t device, const struct handover_open *wish, struct error *err)
{
	if (!device)
		return error_set(err, -EAGAIN, "the mount is coming up");
	if (makedev(wish->device_major, wish->device_minor) == device)
		return 0;
	return error_set(err, -EXDEV, "this socket belongs to the mount with device %u:%u, asked for %u:%u",
			 major(device), minor(device), wish->device_major, wish->device_minor);
}

static int answer_put_member(const struct serve *serve, uint32_t member, int *ret, struct error *err)
{
	const struct array_source *volume = serve->volume;

	bool is_direct = file_is_direct(&volume->geometry[member]);

	return answer_reopen(volume->fds[member], is_direct ? O_DIRECT : 0, "the volume", ret, err);
}

/* The first one that is there has a place of its own, whichever it is. */
static int answer_put_volume(const struct serve *serve, struct answer *answer, struct error *err)
{
	const struct array_source *volume = serve->volume;
	unsigned at = HANDOVER_VOLUME;
	int r = 0;

	answer->message.slots = volume->count;
	for (uint32_t i = 0; r == 0 && i < volume->count; i++) {
		if (!array_has(volume, i))
			continue;
		if (at == HANDOVER_FDS)
			return error_set(err, -EOPNOTSUPP,
					 "the volume has more than the %u members that can be handed over",
					 HANDOVER_MEMBERS);
		r = answer_put_member(serve, i, &answer->fds[at], err);
		answer->message.there[i / 8] |= (uint8_t)(1u << i % 8);
		answer->fd_count += at != HANDOVER_VOLUME;
		at = answer->fd_count;
	}
	return r;
}

int answer_make(struct serve *serve, const struct state *state, uint64_t device, const struct handover_open *wish,
		struct answer *ret, struct error *err)
{
	struct answer answer = { .fd_count = HANDOVER_INDEX };
	int r = answer_check_device(device, wish, err);

	memset(answer.fds, -1, sizeof(answer.fds));
	if (r == 0)
		r = answer_put_index(serve, wish, &answer, err);
	if (r == 0)
		r = answer_reopen(state_fd(state), 0, "the state", &answer.fds[HANDOVER_STATE], err);
	answer.message.volume = state_volume(state);
	if (r == 0) /* last: a device that hangs may keep us here */
		r = answer_put_volume(serve, &answer, err);
	if (r < 0) {
		answer_close(&answer);
		return r;
	}
	handover_begin(&answer.message.answer.head, HANDOVER_OPENED, sizeof(answer.message));
	*ret = answer;
	return 0;
}

void answer_close(struct answer *answer)
{
	for (unsigned i = 0; i < HANDOVER_FDS; i++)
		close_fd(&answer->fds[i]);
}
