/* SPDX-License-Identifier: MIT */
/* Scans all inodes and all names once; both are in memory. */
#include "export/tar_survey.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "image/inode.h"
#include "image/names/names.h"

/* Returns whether text has a UTF-16 surrogate. CESU-8 encodes them in pairs, and libarchive makes one character of each
 * pair. */
static bool tar_survey_has_surrogate(const uint8_t *text, uint64_t length)
{
	for (uint64_t i = 0; i + 1 < length; i++)
		if (text[i] == 0xed && text[i + 1] >= 0xa0)
			return true;
	return false;
}

static int tar_survey_xattr(void *argument, struct span name, struct span value)
{
	struct tar_survey *survey = argument;

	(void)value;
	for (uint64_t i = 0; i < name.size; i++)
		if (name.base[i] <= ' ' || name.base[i] > '~')
			survey->has_odd_xattrs = true;
	return 0;
}

static int tar_survey_inode(const struct index *index, uint64_t ordinal, struct tar_survey *survey, struct error *err)
{
	struct inode inode;
	struct span target;
	int r = inode_get(index, ordinal, &inode, err);

	if (r == 0)
		r = inode_xattrs(index, &inode, tar_survey_xattr, survey, err);
	if (r < 0 || !S_ISLNK(inode.mode))
		return r;
	r = inode_link_target(index, &inode, &target, err);
	if (r == 0 && tar_survey_has_surrogate(target.base, target.size))
		survey->has_cesu = true;
	return r;
}

static int tar_survey_entry(void *argument, uint64_t directory, const struct names_entry *entry)
{
	struct tar_survey *survey = argument;

	(void)directory;
	if (tar_survey_has_surrogate((const uint8_t *)entry->name, entry->name_length))
		survey->has_cesu = true;
	return 0;
}

int tar_survey_make(const struct index *index, struct tar_survey *ret, struct error *err)
{
	struct tar_survey survey = { 0 };
	int r = names_walk(index->names, tar_survey_entry, &survey);

	if (r < 0)
		return error_set(err, r, "the names cannot be read: %s", strerror(-r));
	for (uint64_t i = INODE_ROOT; r == 0 && i <= index->shape.inode_count; i++)
		r = tar_survey_inode(index, i, &survey, err);
	if (r == 0)
		*ret = survey;
	return r;
}

bool tar_survey_is_utf8(const char *path)
{
	size_t left = strlen(path), length;
	uint32_t point;

	for (const uint8_t *at = (const uint8_t *)path; left; at += length, left -= length) {
		length = utf8_decode(at, left, &point);
		if (!length)
			return false;
	}
	return true;
}
