/* SPDX-License-Identifier: MIT */
/* Counts the contents of each top folder, and how evenly they are spread: in many data sets the top folders are the
 * classes. In others they are splits, named train, val and so on, and the folders in these are the classes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define FOLDERS_SPLITS 16u /* most splits whose folders are counted */

struct folder {
	char *name;
	uint8_t length;
	uint32_t number; /* counts top folders and those in splits from 1 on, in the order of the walk */
	uint64_t files, bytes, symlinks; /* by names, at any depth */
	struct folders *below; /* the folders of a split; else NULL */
};

struct folders {
	size_t top; /* length of the path that contains them */
	struct folder *list; /* by name, until folders_sort() */
	size_t count, room;
	struct folder outside; /* counts of files that lie in no folder */
	unsigned splits;       /* folders with below */
	uint32_t numbers;      /* of top folders: the last number */
};

/* How evenly files are spread over the folders that have some. */
struct folders_balance {
	size_t count, empty; /* folders with files, and without */
	const struct folder *smallest, *largest; /* NULL when there is none */
	double median, ratio; /* median number of files; largest number divided by smallest */
};

void folders_close(struct folders *folders); /* accepts a zeroed one */
/* Adds a directory. Call it in the order of a walk. parent: length of the path that contains it. Ignores a directory
 * that is neither a top folder nor a folder of a split. */
must_check int folders_begin(struct folders *folders, size_t parent, const char *name, uint8_t length,
			     struct error *err);
/* Adds the counts of a file or symlink to the folders that folders_begin() added last, unless it lies outside them.
 * parent: length of the path that contains it. */
void folders_add(struct folders *folders, size_t parent, const struct folder *counts);
/* Returns the number of the folder to which folders_add() adds counts; 0: the file lies in none. */
uint32_t folders_number(const struct folders *folders, size_t parent);
/* Sorts by number of files, the most first, then by name. Top folders stay splits only if the splits hold most of all
 * files, and most of those lie in the splits' folders. Nothing can be added afterwards. */
void folders_sort(struct folders *folders);
/* Returns how evenly files are spread over the folders. Call it after folders_sort(). */
struct folders_balance folders_weigh(const struct folders *folders);
