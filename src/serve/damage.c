/* SPDX-License-Identifier: MIT */
/* The list is an array in the order of discovery, with a hash table of its entries by place. */
#include "serve/damage.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "image/chunk.h"

struct damage_entry {
	struct hash_link link; /* must be the first field */
	struct damage_place place;
	uint64_t length;
	uint64_t generation; /* key of the generation that was read */
	bool is_page;
	bool is_unreadable; /* false: it can be read, but the bytes are wrong */
	char version[DSFS_LABEL_MAX + 1];
	char reason[192]; /* room for two sums */
};

struct damage {
	pthread_mutex_t lock; /* protects all fields below */
	struct damage_entry **entries;
	uint32_t count;
	size_t room;
	uint64_t more; /* finds that the full list had no room for; the same place may count many times */
	struct hash_table places;
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
	for (uint32_t i = 0; i < damage->count; i++)
		free(damage->entries[i]);
	hash_free(&damage->places);
	pthread_mutex_destroy(&damage->lock);
	free(damage->entries);
	free(damage);
}

static uint64_t damage_hash(uint32_t member, uint64_t offset)
{
	return hash_spread(offset ^ (uint64_t)member << 56) >> 32;
}

static uint64_t damage_hash_of(const struct hash_link *link)
{
	const struct damage_entry *entry = (const struct damage_entry *)link;

	return damage_hash(entry->place.member, entry->place.offset);
}

static bool damage_has(const struct damage *damage, uint32_t member, uint64_t offset)
{
	const struct hash_link *link = hash_first(&damage->places, damage_hash(member, offset));

	for (; link; link = link->next) {
		const struct damage_entry *entry = (const struct damage_entry *)link;

		if (entry->place.member == member && entry->place.offset == offset)
			return true;
	}
	return false;
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

/* Makes an entry at the end of the list. NULL: there is no room. The caller holds the lock. */
static struct damage_entry *damage_append(struct damage *damage, const struct damage_place *place)
{
	struct damage_entry *entry;

	if (damage->count == DAMAGE_MAX || grow(damage->entries, damage->room, damage->count + 1, NULL) < 0 ||
	    hash_reserve(&damage->places, damage->count + 1, damage_hash_of, NULL) < 0)
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->place = *place;
	damage->entries[damage->count++] = entry;
	hash_add(&damage->places, damage_hash(place->member, place->offset), &entry->link);
	return entry;
}

/* The caller holds the lock. */
static void damage_put(struct damage *damage, const struct reader_place *place, const struct generation *generation,
		       const struct error *why)
{
	const struct damage_place listed = damage_place_of(place);
	struct damage_entry *entry;

	if (damage_has(damage, place->member, place->offset))
		return;
	entry = damage_append(damage, &listed);
	if (!entry) {
		damage->more++;
		return;
	}
	entry->length = place->length;
	entry->generation = generation->key;
	entry->is_page = !place->chunk;
	entry->is_unreadable = why->code != -EBADMSG;
	damage_copy(entry->version, sizeof(entry->version), generation->opened.version.label);
	damage_copy(entry->reason, sizeof(entry->reason), why->reason);
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
	for (uint32_t i = 0; i < damage->count; i++) {
		struct damage_entry *entry = damage->entries[i];

		if (place ? entry->place.member == place->member && entry->place.offset == place->offset :
			    entry->generation == generation) {
			hash_remove(&damage->places, damage_hash_of(&entry->link), &entry->link);
			free(entry);
		} else {
			damage->entries[kept++] = entry;
		}
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
		*ret = damage->entries[number % damage->count]->place;
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
		const struct damage_entry *entry = damage->entries[i];
		char sum[SUM_TEXT_SIZE];

		fprintf(out, "%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t", entry->place.member,
			entry->place.offset, entry->length, entry->reason, entry->version);
		if (entry->is_page)
			fputc('-', out);
		else
			fputs(sum_text(&entry->place.chunk.sum, sum), out);
		fprintf(out, "\t%s\n", entry->is_unreadable ? "unreadable" : "wrong");
	}
	if (damage->more)
		fprintf(out, "# the list is full: %" PRIu64 " times something else was found\n", damage->more);
	pthread_mutex_unlock(&damage->lock);
}
