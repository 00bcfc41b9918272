/* SPDX-License-Identifier: MIT */
/* Counts files, folders, kinds and storage in one walk. */
#include "describe/survey/survey.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "describe/common/content.h"
#include "image/inode.h"
#include "walk.h"

/* State of the walk. */
struct survey_pass {
	const struct index *index;
	struct survey *survey;
	struct seen keys;  /* of content */
	uint8_t *named;    /* a bit per inode with several names, set once one of them was seen */
	struct error *err;
};

static bool survey_is_further_name(struct survey_pass *pass, const struct inode *inode)
{
	uint8_t *byte = &pass->named[inode->ordinal / 8], bit = (uint8_t)(1u << inode->ordinal % 8);
	bool was_there = *byte & bit;

	*byte |= bit;
	return was_there;
}

static void survey_add_size(struct survey *survey, uint64_t size)
{
	unsigned number = size ? 64 - (unsigned)__builtin_clzll(size) : 0;

	survey->sizes[number].files++;
	survey->sizes[number].bytes += size;
	survey->empty_files += size == 0;
}

static int survey_add_content(struct survey_pass *pass, const struct inode *inode)
{
	struct survey *survey = pass->survey;
	uint64_t key;
	int r;

	if (!inode->size)
		return 0;
	r = content_key(pass->index, inode, &key, pass->err);
	if (r < 0)
		return r;
	if (!seen_add(&pass->keys, key)) {
		survey->duplicates++;
		survey->duplicate_bytes += inode->size;
	}
	survey->sparse_files += inode->sparse;
	return storage_add(&survey->storage, pass->index, inode, pass->err);
}

/* Returns the length of the path that contains the entry. */
static size_t survey_parent(const struct walk_entry *entry)
{
	return entry->length - entry->name_length - 1;
}

/* Counts a file, at the first of its names. */
static int survey_add_file(struct survey_pass *pass, const struct walk_entry *entry, const struct inode *inode)
{
	struct survey *survey = pass->survey;
	int r;

	survey->files++;
	survey->bytes += inode->size;
	mixing_add(&survey->mixing, inode->ordinal, folders_number(&survey->folders, survey_parent(entry)));
	survey_add_size(survey, inode->size);
	r = largest_add(&survey->largest, inode->size, entry->path, entry->length, pass->err);
	return r < 0 ? r : survey_add_content(pass, inode);
}

static int survey_add_regular(struct survey_pass *pass, const struct walk_entry *entry)
{
	struct inode inode;
	int r = inode_get(pass->index, entry->ordinal, &inode, pass->err);

	if (r < 0)
		return r;
	folders_add(&pass->survey->folders, survey_parent(entry), &(struct folder){ .files = 1, .bytes = inode.size });
	kinds_add(&pass->survey->kinds, walk_name(entry), entry->name_length, inode.size);
	if (inode.nlink < 2 || !survey_is_further_name(pass, &inode))
		return survey_add_file(pass, entry, &inode);
	pass->survey->further_names++;
	pass->survey->further_bytes += inode.size;
	return 0;
}

static int survey_add(struct survey_pass *pass, const struct walk_entry *entry)
{
	struct survey *survey = pass->survey;

	if (entry->type == DT_REG)
		return survey_add_regular(pass, entry);
	if (entry->type == DT_LNK) {
		survey->symlinks++;
		folders_add(&survey->folders, survey_parent(entry), &(struct folder){ .symlinks = 1 });
		return 0;
	}
	survey->directories++;
	if (!entry->name_length) {
		survey->folders.top = entry->length > 1 ? entry->length : 0;
		return 0;
	}
	return folders_begin(&survey->folders, survey_parent(entry), walk_name(entry), entry->name_length, pass->err);
}

static int survey_walk(struct survey_pass *pass, const char *below)
{
	auto_walk struct walk *walk = NULL;
	struct walk_entry entry;
	int r = walk_open(pass->index, below, &walk, pass->err), added = 0;

	if (r < 0)
		return r;
	while (added == 0 && (r = walk_next(walk, &entry, pass->err)) > 0)
		added = survey_add(pass, &entry);
	return added < 0 ? added : r;
}

static int survey_count(const struct index *index, const char *below, struct survey *survey, struct error *err)
{
	struct survey_pass pass = { .index = index, .survey = survey, .err = err };
	int r;

	pass.named = calloc(index->shape.inode_count / 8 + 1, 1);
	r = pass.named ? seen_open(&pass.keys, index->shape.inode_count, err) : error_no_memory(err);
	if (r == 0)
		r = storage_open(&survey->storage, index, err);
	if (r == 0)
		r = mixing_open(&survey->mixing, index, err);
	if (r == 0)
		r = survey_walk(&pass, below);
	seen_close(&pass.keys);
	free(pass.named);
	return r;
}

int survey_run(const struct index *index, const char *below, size_t largest, struct survey **ret, struct error *err)
{
	struct survey *survey = calloc(1, sizeof(*survey));
	int r;

	if (!survey)
		return error_no_memory(err);
	largest_open(&survey->largest, largest);
	r = survey_count(index, below, survey, err);
	if (r == 0) {
		largest_sort(&survey->largest);
		kinds_sort(&survey->kinds);
		folders_sort(&survey->folders);
		r = mixing_measure(&survey->mixing, index, &survey->folders, err);
	}
	if (r < 0) {
		survey_free(survey);
		return r;
	}
	*ret = survey;
	return 0;
}

void survey_free(struct survey *survey)
{
	if (!survey)
		return;
	folders_close(&survey->folders);
	largest_close(&survey->largest);
	storage_close(&survey->storage);
	mixing_close(&survey->mixing);
	free(survey);
}
