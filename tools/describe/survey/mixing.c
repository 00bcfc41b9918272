/* SPDX-License-Identifier: MIT */
/* Goes through files by place and counts the classes of each block. */
#include "describe/survey/mixing.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "image/inode.h"
#include "image/places.h"

/* A class: a folder, with the class's number, and all below it that are no classes themselves. */
struct mixing_class {
	uint32_t number; /* the class of the folder with this number */
	uint64_t files;
	uint64_t block;  /* number of the last block that has a file of it, plus 1 */
};

int mixing_open(struct mixing *mixing, const struct index *index, struct error *err)
{
	*mixing = (struct mixing){ .folders = calloc(index->shape.inode_count, sizeof(*mixing->folders)) };
	return mixing->folders ? 0 : error_no_memory(err);
}

void mixing_close(struct mixing *mixing)
{
	free(mixing->folders);
	*mixing = (struct mixing){ 0 };
}

void mixing_add(struct mixing *mixing, uint64_t ordinal, uint32_t folder)
{
	mixing->folders[ordinal - INODE_ROOT] = folder + 1;
	mixing->files++;
}

/* Finds the class of each folder: its own, or if it lies in a top folder that is no split, that one's. A top folder's
 * number comes before those of the folders in it. */
static void mixing_classes(struct mixing_class *classes, const struct folders *folders)
{
	uint32_t top = 0;

	for (size_t i = 0; i < folders->count; i++) {
		const struct folders *below = folders->list[i].below;

		classes[folders->list[i].number].number = folders->list[i].number;
		for (size_t k = 0; below && k < below->count; k++)
			classes[below->list[k].number].number = below->list[k].number;
	}
	for (uint32_t n = 1; n <= folders->numbers; n++) {
		if (!classes[n].number)
			classes[n].number = top;
		top = classes[n].number;
	}
}

/* Returns the class of a file; NULL: it is not counted. */
static struct mixing_class *mixing_class(const struct mixing *mixing, struct mixing_class *classes, uint64_t ordinal)
{
	uint32_t folder = mixing->folders[ordinal - INODE_ROOT];

	return folder ? &classes[classes[folder - 1].number] : NULL;
}

/* Returns the chance that a block of files drawn at random has none of a class. */
static double mixing_chance_of_none(uint64_t files, uint64_t of_class)
{
	double chance = 1;

	for (unsigned i = 0; i < MIXING_BLOCK && chance > 0; i++)
		chance *= of_class + i < files ? (double)(files - of_class - i) / (double)(files - i) : 0;
	return chance;
}

static void mixing_count(struct mixing *mixing, const struct index *index, struct mixing_class *classes)
{
	uint64_t whole = mixing->files / MIXING_BLOCK * MIXING_BLOCK, found = 0, done = 0;
	uint64_t count = places_has_table(index) ? index->shape.places_count : index->shape.inode_count;

	for (uint64_t i = 0; i < count && done < whole; i++) {
		uint64_t ordinal = places_has_table(index) ? places_get(index, i) : INODE_ROOT + i;
		struct mixing_class *class = mixing_class(mixing, classes, ordinal);
		uint64_t block = done / MIXING_BLOCK + 1;

		if (!class)
			continue;
		found += class->block != block;
		class->block = block;
		done++;
	}
	mixing->blocks = whole / MIXING_BLOCK;
	mixing->found = mixing->blocks ? (double)found / (double)mixing->blocks : 0;
}

int mixing_measure(struct mixing *mixing, const struct index *index, const struct folders *folders, struct error *err)
{
	auto_free struct mixing_class *classes = calloc((size_t)folders->numbers + 1, sizeof(*classes));
	struct mixing_class *class;

	if (!classes)
		return error_no_memory(err);
	mixing_classes(classes, folders);
	for (uint64_t ordinal = INODE_ROOT; ordinal <= index->shape.inode_count; ordinal++) {
		class = mixing_class(mixing, classes, ordinal);
		if (class)
			class->files++;
	}
	for (uint32_t n = 0; n <= folders->numbers; n++)
		mixing->expected += classes[n].files ? 1 - mixing_chance_of_none(mixing->files, classes[n].files) : 0;
	mixing_count(mixing, index, classes);
	return 0;
}
