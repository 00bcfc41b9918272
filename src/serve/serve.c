/* SPDX-License-Identifier: MIT */
/* Functions about members that all threads call. A thread that prints a member's name takes no lock, so former names
 * are not freed before the mount ends. */
#include "serve/serve.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "device/locate.h"
#include "serve/damage.h"
#include "serve/recovery/recovery.h"

#define SERVE_SILENCE INT64_C(5000000000) /* ns without an answer after which a member counts as missing */
#define SERVE_NAP     50000u              /* µs between two checks of a silent member */

void serve_note_damage(struct serve *serve, const struct reader_place *place, const struct generation *generation,
		       const struct error *why)
{
	damage_add(serve->damage, place, generation, why);
	atomic_store(&serve->due.doubt, true);
}

void serve_note_members(struct serve *serve, const struct members *members)
{
	for (uint32_t i = 0; i < members->count; i++)
		if (members->list[i].missing_from)
			serve_request_rejoin(serve);
	if (serve->volume.window && members_are_redundant(members))
		window_allow_hedges(serve->volume.window);
}

void serve_be_patient(const struct serve *serve, uint32_t slot, struct file_source *file)
{
	file->patience = FILE_PATIENCE;
	file->silent_since = &serve->recovery->members[slot].silent_since;
	file->inherited_until = serve->adopts ? clock_now() + FILE_PATIENCE : 0;
}

/* Returns since when a member has answered no thread, those of former servers included. */
static int64_t serve_silent_since(const struct serve *serve, uint32_t slot, int64_t silence)
{
	int64_t since = 0, now = clock_now();

	if (atomic_compare_exchange_strong(&serve->recovery->members[slot].silent_since, &since, now - silence))
		return now - silence;
	return since < now - silence ? since : now - silence;
}

bool serve_is_silent(const void *owner, uint32_t slot)
{
	const struct serve *serve = owner;
	int64_t silence;

	for (;;) {
		silence = route_silence(serve->volume.route, slot, clock_now());
		if (!silence || !route_is_suspect(serve->volume.route, slot, clock_now()))
			return false;
		if (clock_now() - serve_silent_since(serve, slot, silence) >= SERVE_SILENCE)
			return true;
		usleep(SERVE_NAP);
	}
}

void serve_rename_member(struct serve *serve, uint32_t slot, char *name)
{
	struct serve_member *member = &serve->volume.members[slot];
	char *former = atomic_exchange(&member->name, name);
	struct error why = { 0 };

	/* If there is no memory to list it, a former name leaks. */
	if (former && grow_one(member->former, member->former_count, NULL) == 0)
		member->former[member->former_count++] = former;
	recovery_set_member(serve->recovery, slot, name);
	atomic_store(&member->is_crypt, locate_is_crypt(serve->volume.array->fds[slot]));
	if (locate_identity(serve->volume.array->fds[slot], member->identity, &why) < 0)
		log_debug("'%s' cannot be found again under another name: %s", name, why.reason);
}

uint32_t serve_count_crypt(const struct serve *serve)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < serve->volume.array->count; i++)
		count += atomic_load(&serve->volume.members[i].is_crypt) && !serve_is_missing(serve, i);
	return count;
}

void serve_forget_members(struct serve *serve)
{
	struct serve_volume *volume = &serve->volume;
	for (uint32_t i = 0; volume->members && i < volume->array->count; i++) {
		struct serve_member *member = &volume->members[i];

		for (size_t k = 0; k < member->former_count; k++)
			free(member->former[k]);
		free(member->former);
		free(atomic_load(&member->name));
	}
	free(volume->members);
}
