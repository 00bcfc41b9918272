/* SPDX-License-Identifier: MIT */
/* Walks the source breadth-first and gives every inode its ordinal. */
#pragma once
#include "source/listing.h"

/* A directory, reported after its entries were counted and before they are reported. */
struct scan_directory {
	uint64_t ordinal, parent; /* the root is its own parent */
	uint64_t entries, subdirectories;
	const struct listing *listing;
};

struct scan_entry {
	uint64_t ordinal;
	bool is_link; /* its inode was reported before, under another name */
	const char *name;
	size_t name_length;
	const struct attributes *attributes;
};

/* The functions that receive the scan, in this order: the marks of a directory, the directory, its entries; then the
 * next directory. entry returns 1 for a directory that shall not be entered. */
struct scan_sink {
	int (*mark)(void *argument, uint64_t directory, uint32_t number, const struct listing_entry *entry,
		    struct error *err);
	int (*directory)(void *argument, const struct scan_directory *directory, struct error *err);
	int (*entry)(void *argument, const struct scan_directory *directory, const struct scan_entry *entry,
		     struct error *err);
	void *argument;
};

/* A substitute for reading directories: a list of files, or an archive. */
struct scan_lister {
	/* Makes a listing of a directory. The scan calls it breadth-first. */
	int (*directory)(void *argument, const struct listing_context *context, const char *path, struct listing *ret,
			 struct error *err);
	int (*end)(void *argument, const struct listing_context *context, struct error *err);
	void *argument;
};

struct scan_setup {
	struct listing_context list;
	struct scan_lister lister; /* zeroed: directories are read */
	bool refuse_special;
	bool is_first; /* another scan follows, which warns */
	bool (*is_volume)(void *argument, uint64_t device, uint64_t inode); /* such a file is refused */
	void *is_volume_argument;
	struct scan_sink sink;
};

struct scan_counts {
	uint64_t inodes, entries, links;
	uint64_t special; /* devices, sockets and FIFOs left out */
	uint64_t path_bytes; /* bytes of directories in the spool */
	uint64_t linked;     /* files with several names */
};

must_check int scan_run(const struct scan_setup *setup, struct scan_counts *ret, struct error *err);
