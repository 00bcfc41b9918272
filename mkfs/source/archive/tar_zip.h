/* SPDX-License-Identifier: MIT */
/* Gives libarchive a zip from a seekable file, because the directory of its names and modes comes at the end. */
#pragma once
#include <archive.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/archive/tar_input.h"

#define TAR_ZIP_LOOK 512u /* bytes that tell a zip, or a program that may end with one, from a tar */
#define TAR_ZIP_HEAD 30u  /* bytes of an entry's head, in front of its name and content */
#define TAR_ZIP_TAIL 98u  /* bytes of the ends that follow a directory of zip64 */
#define TAR_ZIP_PARTS "is one of several parts: join them first, as by 'zip -s 0 ARCHIVE.zip --out WHOLE.zip'"

struct tar_zip {
	int fd;
	uint64_t base, size; /* of the archive in its file */
	uint64_t at;         /* the next byte to read, in the current part */
	uint64_t entries;    /* as its directory says */
	uint64_t directory, directory_end;
	bool is_wide;        /* zip64: entries may be 65536 and more */
	bool is_empty;       /* it has no entries; libarchive would say that it is no zip */
	bool is_program;     /* the file begins with a program that unpacks the archive */
	bool is_wrapped;     /* it is larger than 4 GiB and no zip64: only the lower 32 bits of offsets are there */
	uint8_t *buffer;
	/* The part that libarchive reads: of a wrapped archive the bytes from shift to the directory, of that the
	 * records from slice to slice_end, and a tail; else all. */
	uint64_t shift, slice, slice_end;
	uint8_t tail[TAR_ZIP_TAIL];
};

/* Returns whether the bytes begin like a zip archive. */
bool tar_zip_begins(const uint8_t *bytes, size_t length);
/* Returns whether they are the header of a tar archive. */
bool tar_zip_is_tar(const uint8_t *bytes, size_t length);
/* Returns whether they begin like a program, and not like a tar archive. */
bool tar_zip_is_program(const uint8_t *bytes, size_t length);
/* Returns the size of a seekable file or device, 0 for anything else. Leaves the position as it was. */
uint64_t tar_zip_file_size(int fd);
/* Copies all that source gives to the beginning of the file to. Returns the number of bytes copied; negative with a
 * reason. */
int64_t tar_zip_spool(tar_input_source source, void *argument, int to, const char **reason);

/* Checks that the archive fills its part of the file, except for a program at its beginning. Returns 0, or -1 with a
 * reason, a string constant. */
int tar_zip_open(struct tar_zip *zip, int fd, uint64_t base, uint64_t size, bool is_program, const char **reason);
void tar_zip_close(struct tar_zip *zip); /* a zeroed one may be closed, too */
/* Moves on to the next part, the first one at first. Returns 1; 0: there are no more; -1 with a reason. */
int tar_zip_next(struct tar_zip *zip, const char **reason);
/* Makes libarchive read the part; returns libarchive's code. */
int tar_zip_attach(struct tar_zip *zip, struct archive *archive);
/* Returns whether the directory says that there are this many entries. */
bool tar_zip_has(const struct tar_zip *zip, uint64_t entries);
