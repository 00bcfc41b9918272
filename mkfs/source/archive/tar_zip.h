/* SPDX-License-Identifier: MIT */
/* Where a zip archive lies: a zip ends with the directory that has its names and modes, so it is read from a file. */
#pragma once
#include <archive.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_ZIP_LOOK 4u  /* bytes by which a zip is known */
#define TAR_ZIP_HEAD 30u /* bytes that each entry has in front of its name and content */

struct tar_zip {
	int fd;
	uint64_t base, size; /* of the archive in its file */
	uint64_t at;         /* the next byte to read */
	uint64_t entries;    /* as its directory says */
	bool is_wide;        /* entries may be 65536 and more */
	bool is_empty;       /* libarchive takes such a one for none */
	uint8_t *buffer;
};

bool tar_zip_begins(const uint8_t *bytes, size_t length);
/* The size of a file or device that can be sought in, 0 for anything else. Leaves the position as it was. */
uint64_t tar_zip_file_size(int fd);
/* Copies head, of TAR_ZIP_LOOK bytes, and all that follows in from to the beginning of the file to. Returns how many
 * bytes these are; negative with a reason. */
int64_t tar_zip_spool(int from, const uint8_t *head, int to, const char **reason);

/* Checks that the archive fills its part of the file: -1 with a reason, which is valid for ever. */
int tar_zip_open(struct tar_zip *zip, int fd, uint64_t base, uint64_t size, const char **reason);
void tar_zip_close(struct tar_zip *zip); /* a zeroed one as well */
/* Makes libarchive read it; returns libarchive's code. */
int tar_zip_attach(struct tar_zip *zip, struct archive *archive);
/* Whether that many entries are what the directory says. */
bool tar_zip_has(const struct tar_zip *zip, uint64_t entries);
