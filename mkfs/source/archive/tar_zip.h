/* SPDX-License-Identifier: MIT */
/* Gives libarchive a zip from a seekable file, because the directory of its names and modes comes at the end. */
#pragma once
#include <archive.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_ZIP_LOOK 4u  /* bytes of the signature with which a zip begins */
#define TAR_ZIP_HEAD 30u /* bytes of an entry's head, in front of its name and content */

struct tar_zip {
	int fd;
	uint64_t base, size; /* of the archive in its file */
	uint64_t at;         /* the next byte to read */
	uint64_t entries;    /* as its directory says */
	bool is_wide;        /* zip64: entries may be 65536 and more */
	bool is_empty;       /* it has no entries; libarchive would say that it is no zip */
	uint8_t *buffer;
};

/* Returns whether the bytes begin like a zip archive. */
bool tar_zip_begins(const uint8_t *bytes, size_t length);
/* Returns the size of a seekable file or device, 0 for anything else. Leaves the position as it was. */
uint64_t tar_zip_file_size(int fd);
/* Copies head, of TAR_ZIP_LOOK bytes, and the rest of from to the beginning of the file to. Returns the number of bytes
 * copied; negative with a reason. */
int64_t tar_zip_spool(int from, const uint8_t *head, int to, const char **reason);

/* Checks that the archive fills its part of the file. Returns 0, or -1 with a reason, a string constant. */
int tar_zip_open(struct tar_zip *zip, int fd, uint64_t base, uint64_t size, const char **reason);
void tar_zip_close(struct tar_zip *zip); /* a zeroed one may be closed, too */
/* Makes libarchive read the zip; returns libarchive's code. */
int tar_zip_attach(struct tar_zip *zip, struct archive *archive);
/* Returns whether the directory says that there are this many entries. */
bool tar_zip_has(const struct tar_zip *zip, uint64_t entries);
