/* SPDX-License-Identifier: MIT */
/* Knows which archive each entry comes from, and what to do when two entries have one name. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TAR_ORIGIN_PATH 4096u

/* Ways to treat an entry when a later one has its name. */
enum tar_duplicates {
	TAR_DUPLICATES_AUTO,  /* replaced within an archive, an error between archives */
	TAR_DUPLICATES_LAST,  /* replaced */
	TAR_DUPLICATES_ERROR,
};

/* The entries that were replaced, for the summary. */
struct tar_replaced {
	uint64_t count;
	char path[TAR_ORIGIN_PATH]; /* the first of them, cut off if it is longer */
	const char *former, *later; /* names of the archives that it came from */
};

struct tar_origin_setup {
	const char *const *names; /* of the archives on the command line */
	unsigned count;
	bool into_folders; /* each of them becomes a folder */
	enum tar_duplicates duplicates;
};

struct tar_origin {
	struct tar_origin_setup setup;
	char **folders;    /* NULL: there are none */
	uint32_t *sources; /* index in names, of each archive so far: one file may hold several, or nested ones */
	size_t used, room;
	struct tar_replaced replaced;
};

/* Refuses two archives that would become the same folder. */
must_check int tar_origin_open(struct tar_origin *origin, const struct tar_origin_setup *setup, struct error *err);
void tar_origin_close(struct tar_origin *origin); /* a zeroed one may be closed, too */
/* Notes that entries of an archive come, which are numbered from 0 as they come. */
must_check int tar_origin_enter(struct tar_origin *origin, uint32_t archive, uint32_t source, struct error *err);
/* Returns the folder that the archive's entries go to, or "". */
const char *tar_origin_folder(const struct tar_origin *origin, uint32_t archive);
/* Counts an entry that another one replaces, or refuses it. */
must_check int tar_origin_replace(struct tar_origin *origin, const char *path, uint32_t former, uint32_t later,
				  struct error *err);
