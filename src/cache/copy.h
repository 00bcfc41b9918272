/* SPDX-License-Identifier: MIT */
/* Copies of indexes in a volume's folder (folder.h), and of the heads of block checksums: files that are named after
 * the SHA-256 of the section, with a head of COPY_AT bytes before it. The head says, for people, which version it
 * belongs to; the reader of the section checks its bytes. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "datasetfs/format.h"
#include "image/catalogue/version.h"

#define COPY_AT     UINT64_C(4096) /* where the section begins in the file */
#define COPY_FORMAT 1u

struct file_source;

enum copy_kind { COPY_INDEX, COPY_BLOCK_SUMS };

struct copy {
	enum copy_kind kind;
	uint8_t sha256[32]; /* of the section */
	uint64_t length;    /* of the section, bytes; a multiple of DSFS_BLOCK; 0: copy_open() takes any */
	uint8_t version[16]; /* UUID */
	uint64_t sequence;
	char label[DSFS_LABEL_MAX + 1];
};

/* The copies that a version may have, that of the head of its block checksums with length 0. */
struct copy copy_of(const struct version *version, enum copy_kind kind);
/* Writes the head of a copy. */
void copy_encode(const struct copy *copy, uint8_t head[COPY_AT]);
/* Reads a head. -EBADMSG: it is none; -EOPNOTSUPP: it is of another release. */
must_check int copy_decode(struct span head, struct copy *ret, struct error *err);

/* Opens the copy of this section: its bytes lie in *ret from COPY_AT on, unchecked, and a read of them fails if the
 * drive does not answer for a while. -ENOENT: there is none; other errors say what is wrong with it. */
must_check int copy_open(int volume, const struct copy *copy, struct file_source **ret, struct error *err);
/* Whether there is a copy of this section that looks right. */
bool copy_exists(int volume, const struct copy *copy);
/* Writes the copy, instead of one that may be there. bytes: the section, aligned to DIRECT_ALIGN. -EWOULDBLOCK: another
 * process is writing it; -ECANCELED: *ended became true; -ENOSPC, before anything is written, if less than a tenth of
 * the filesystem would be free. On failure there is neither a copy that was begun nor a change of the former one. */
must_check int copy_write(int volume, const struct copy *copy, const void *bytes, const _Atomic bool *ended,
			  struct error *err);
/* Removes the copy. */
void copy_remove(int volume, const struct copy *copy);

struct copy_file {
	struct copy copy; /* the sum is that of its name; length 0: the head cannot be read */
	uint64_t bytes;   /* of the file */
	int64_t written;  /* seconds since 1970 */
};
/* Calls each for all copies of a volume, which it may remove, until it fails. */
must_check int copy_each(int volume, int (*each)(void *argument, const struct copy_file *file, struct error *err),
			 void *argument, struct error *err);
/* Removes all copies but these, and files that a killed process left unfinished. */
must_check int copy_prune(int volume, const uint8_t (*kept)[32], uint32_t count, struct error *err);
