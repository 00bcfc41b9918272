/* SPDX-License-Identifier: MIT */
/* The list is an array in the order of discovery, with a hash table of indexes into it. */
#include "serve/damage.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "image/chunk.h"

#define DAMAGE_SLOTS (2 * DAMAGE_MAX) /* slots of the hash table; half of them stay empty */

struct damage_entry {
	struct damage_place place;
	uint64_t length;
	uint64_t generation; /* key of the generation that was read */
	bool is_page;
	bool is_unreadable; /* false: it can be read, but the bytes are wrong */
	char version[DSFS_LABEL_MAX + 1];
	char reason[96];
};

struct damage {
	pthread_mutex_t lock; /* protects all fields below */
	struct damage_entry *entries;
	uint32_t count;
	size_t room;
	uint64_t more; /* finds that the full list had no room for; the same place may count many times */
	uint16_t slots[DAMAGE_SLOTS]; /* 1 + index of the entry; 0: empty */
};

int damage_new(struct damage **ret, struct error *err)
{
	struct damage *damage = calloc(1, sizeof(*damage));

	if (!damage)
		return error_no_memory(err);
	pthread_mutex_init(&damage->lock, NULL);
	*ret = damage;
	return 0;
}

void damage_free(struct damage *damage)
{
	if (!damage)
		return;
	pthread_mutex_destroy(&damage->lock);
	free(damage->entries);
	free(damage);
}

/* The hash slot of a place, or the empty slot where it would go. */
static uint16_t *damage_slot(struct damage *damage, uint32_t member, uint64_t offset)
{
	uint64_t hash = (offset ^ (uint64_t)member << 56) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 32) % DAMAGE_SLOTS;
	const struct damage_entry *entry;

	for (; damage->slots[at]; at = (at + 1) % DAMAGE_SLOTS) {
		entry = &damage->entries[damage->slots[at] - 1];
		if (entry->place.member == member && entry->place.offset == offset)
			break;
	}
	return &damage->slots[at];
}

/* Replaces tabs and newlines, which separate the fields and lines of the list. */
static void damage_copy(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = (unsigned char)from[i] < ' ' ? ' ' : from[i];
	to[i] = 0;
}

static struct damage_place damage_place_of(const struct reader_place *place)
{
	struct damage_place listed = { .member = place->member, .offset = place->offset };

	listed.chunk = place->chunk ? *place->chunk : (struct chunk){ .sum = place->page_sum, .stored = DSFS_BLOCK,
								      .length = DSFS_BLOCK, .codec = DSFS_CODEC_RAW };
	return listed;
}

/* The caller holds the lock. */
static void damage_put(struct damage *damage, const struct reader_place *place, const struct generation *generation,
		       const struct error *why)
{
	uint16_t *slot = damage_slot(damage, place->member, place->offset);
	struct damage_entry *entry;

	if (!*slot && damage->count < DAMAGE_MAX &&
	    grow(damage->entries, damage->room, damage->count + 1, NULL) == 0) {
		entry = &damage->entries[damage->count++];
		*entry = (struct damage_entry){ .place = damage_place_of(place),
						.length = place->length,
						.generation = generation->key,
						.is_page = !place->chunk,
						.is_unreadable = why->code != -EBADMSG };
		damage_copy(entry->version, sizeof(entry->version), generation->version.label);
		damage_copy(entry->reason, sizeof(entry->reason), why->reason);
		*slot = (uint16_t)damage->count;
	} else if (!*slot) {
		damage->more++;
	}
}

void damage_add(struct damage *damage, const struct reader_place *place, const struct generation *generation,
		const struct error *why)
{
	pthread_mutex_lock(&damage->lock);
	if (atomic_load(&generation->fate) == GENERATION_THERE)
		damage_put(damage, place, generation, why);
	pthread_mutex_unlock(&damage->lock);
}

/* Removes the given place, or with place NULL all places that reads of the generation listed. */
static void damage_take_out(struct damage *damage, uint64_t generation, const struct damage_place *place)
{
	uint32_t kept = 0;

	pthread_mutex_lock(&damage->lock);
	memset(damage->slots, 0, sizeof(damage->slots));
	for (uint32_t i = 0; i < damage->count; i++) {
		struct damage_entry entry = damage->entries[i];

		if (place ? entry.place.member == place->member && entry.place.offset == place->offset :
			    entry.generation == generation)
			continue;
		damage->entries[kept++] = entry;
		*damage_slot(damage, entry.place.member, entry.place.offset) = (uint16_t)kept;
	}
	damage->count = kept;
	if (!kept) /* reads will find the places again that had no room */
		damage->more = 0;
	pthread_mutex_unlock(&damage->lock);
}

void damage_forget(struct damage *damage, const struct generation *generation)
{
	damage_take_out(damage, generation->key, NULL);
}

void damage_drop(struct damage *damage, const struct damage_place *place)
{
	damage_take_out(damage, 0, place);
}

bool damage_get(struct damage *damage, uint32_t number, struct damage_place *ret)
{
	bool is_there;

	pthread_mutex_lock(&damage->lock);
	is_there = damage->count;
	if (is_there)
		*ret = damage->entries[number % damage->count].place;
	pthread_mutex_unlock(&damage->lock);
	return is_there;
}

uint64_t damage_count(struct damage *damage)
{
	uint64_t count;

	pthread_mutex_lock(&damage->lock);
	count = damage->count;
	pthread_mutex_unlock(&damage->lock);
	return count;
}

void damage_write(struct damage *damage, FILE *out)
{
	pthread_mutex_lock(&damage->lock);
	for (uint32_t i = 0; i < damage->count; i++) {
		const struct damage_entry *entry = &damage->entries[i];

		fprintf(out, "%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t", entry->place.member,
			entry->place.offset, entry->length, entry->reason, entry->version);
		if (entry->is_page)
			fputc('-', out);
		else
			fprintf(out, "%016" PRIx64, entry->place.chunk.sum);
		fprintf(out, "\t%s\n", entry->is_unreadable ? "unreadable" : "wrong");
	}
	if (damage->more)
		fprintf(out, "# the list is full: %" PRIu64 " times something else was found\n", damage->more);
	pthread_mutex_unlock(&damage->lock);
}
