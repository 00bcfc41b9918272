/* SPDX-License-Identifier: MIT */
/* A list in the order in which places were found, with a hash table of their numbers. */
#include "serve/damage.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "image/chunk.h"

#define DAMAGE_SLOTS (2 * DAMAGE_MAX) /* of the table: half of them stay empty */

struct damage_entry {
	uint32_t member;
	uint64_t offset, length, sum;
	bool is_unreadable; /* otherwise it can be read, but the bytes are wrong */
	char version[DSFS_LABEL_MAX + 1];
	char reason[96];
};

struct damage {
	pthread_mutex_t lock; /* all below */
	struct damage_entry *entries;
	uint32_t count, room;
	uint64_t more; /* that were found when the list was full, perhaps some of them again and again */
	uint16_t slots[DAMAGE_SLOTS]; /* 1 + number of the entry; 0: none */
};

int damage_new(struct damage **ret, struct error *err)
{
	struct damage *damage = calloc(1, sizeof(*damage));

	if (!damage)
		return error_set(err, -ENOMEM, "no memory for a list of damage");
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

/* The slot of the place, or the empty slot where it goes. */
static uint16_t *damage_slot(struct damage *damage, const struct reader_place *place)
{
	uint64_t hash = (place->offset ^ (uint64_t)place->member << 56) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 32) % DAMAGE_SLOTS;
	const struct damage_entry *entry;

	for (; damage->slots[at]; at = (at + 1) % DAMAGE_SLOTS) {
		entry = &damage->entries[damage->slots[at] - 1];
		if (entry->member == place->member && entry->offset == place->offset)
			break;
	}
	return &damage->slots[at];
}

static bool damage_reserve(struct damage *damage)
{
	uint32_t room = damage->room ? 2 * damage->room : 64;
	struct damage_entry *entries;

	if (damage->count < damage->room)
		return true;
	entries = damage->count < DAMAGE_MAX ? realloc(damage->entries, room * sizeof(*entries)) : NULL;
	if (!entries)
		return false;
	damage->entries = entries;
	damage->room = room;
	return true;
}

/* Replaces tabs and newlines, which separate the fields and lines of the list. */
static void damage_copy(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = (unsigned char)from[i] < ' ' ? ' ' : from[i];
	to[i] = 0;
}

void damage_add(struct damage *damage, const struct reader_place *place, const char *version, const struct error *why)
{
	struct damage_entry *entry;
	uint16_t *slot;

	pthread_mutex_lock(&damage->lock);
	slot = damage_slot(damage, place);
	if (!*slot && damage_reserve(damage)) {
		entry = &damage->entries[damage->count++];
		*entry = (struct damage_entry){ .member = place->member, .offset = place->offset,
						.length = place->length,
						.sum = place->chunk ? place->chunk->sum : 0,
						.is_unreadable = why->code != -EBADMSG };
		damage_copy(entry->version, sizeof(entry->version), version);
		damage_copy(entry->reason, sizeof(entry->reason), why->reason);
		*slot = (uint16_t)damage->count;
	} else if (!*slot) {
		damage->more++;
	}
	pthread_mutex_unlock(&damage->lock);
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

		fprintf(out, "%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t", entry->member, entry->offset,
			entry->length, entry->reason, entry->version);
		if (entry->sum)
			fprintf(out, "%016" PRIx64, entry->sum);
		else
			fputc('-', out);
		fprintf(out, "\t%s\n", entry->is_unreadable ? "unreadable" : "wrong");
	}
	if (damage->more)
		fprintf(out, "# the list is full: %" PRIu64 " times something else was found\n", damage->more);
	pthread_mutex_unlock(&damage->lock);
}
