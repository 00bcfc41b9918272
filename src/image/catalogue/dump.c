/* SPDX-License-Identifier: MIT */
/* Writes the dump of a version, and computes the digest, which is its SHA-256. */
#include "image/catalogue/dump.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/program/interrupt.h"
#include "base/text/format.h"
#include "image/chunk.h"
#include "image/inode.h"
#include "image/names/names.h"
#include "image/sums/sha256.h"
#include "image/sums/sum.h"

#define ROOM       65536u
#define DUMP_STEP  4096u
#define LINE_SPARE 20480u /* more than any part of a line written between two checks */

struct dump {
	struct index *index;
	int (*put)(void *argument, const char *text, size_t length);
	void *argument;
	struct error *err;
	uint64_t highest; /* ordinal written so far */
	size_t used;
	char text[ROOM];
};

/* Checks for signals too, because a hole of a few bytes may stand for a quarter of a billion lines. */
static int dump_flush(struct dump *d)
{
	int r = interrupt_check(d->err);

	if (r == 0 && d->used)
		r = d->put(d->argument, d->text, d->used);
	d->used = 0;
	return r;
}

static int dump_make_room(struct dump *d)
{
	return d->used > ROOM - LINE_SPARE ? dump_flush(d) : 0;
}

static void dump_char(struct dump *d, char c)
{
	d->text[d->used++] = c;
}

static void dump_word(struct dump *d, const char *word)
{
	size_t length = strlen(word);

	memcpy(d->text + d->used, word, length);
	d->used += length;
}

/* Formats digits by hand: a dump of millions of files is mostly numbers. */
static void dump_digits(struct dump *d, uint64_t n, unsigned base, unsigned width)
{
	char digits[24];
	unsigned count = 0;

	do {
		digits[count++] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	while (count < width)
		digits[count++] = '0';
	while (count)
		dump_char(d, digits[--count]);
}

static void dump_number(struct dump *d, uint64_t n)
{
	dump_char(d, ' ');
	dump_digits(d, n, 10, 1);
}

/* Writes printable ASCII as it is, and everything else, space and backslash as \xHH. */
static void dump_escaped(struct dump *d, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] > ' ' && bytes[i] < 0x7f && bytes[i] != '\\') {
			dump_char(d, (char)bytes[i]);
			continue;
		}
		dump_word(d, "\\x");
		dump_digits(d, bytes[i], 16, 2);
	}
}

static void dump_time(struct dump *d, const struct inode *inode)
{
	dump_char(d, ' ');
	if (inode->mtime < 0)
		dump_char(d, '-');
	dump_digits(d, (uint64_t)(inode->mtime < 0 ? -inode->mtime : inode->mtime), 10, 1);
	dump_char(d, '.');
	dump_digits(d, inode->mtime_nsec, 10, 9);
}

/* Writes ORDINAL TYPE MODE UID GID MTIME NLINK SIZE PARENT NAME. */
static void dump_inode_line(struct dump *d, const struct inode *inode, uint64_t parent, const char *name,
			    size_t length)
{
	dump_digits(d, inode->ordinal, 10, 1);
	dump_word(d, S_ISDIR(inode->mode) ? " d " : S_ISLNK(inode->mode) ? " l " : " f ");
	dump_digits(d, inode->mode & 07777, 8, 4);
	dump_number(d, inode->uid);
	dump_number(d, inode->gid);
	dump_time(d, inode);
	dump_number(d, inode->nlink);
	dump_number(d, inode->size);
	dump_number(d, parent);
	dump_char(d, ' ');
	dump_escaped(d, (const uint8_t *)name, length);
	dump_char(d, '\n');
}

static int dump_xattr(void *argument, struct span name, struct span value)
{
	struct dump *d = argument;
	int r = dump_make_room(d);

	if (r < 0)
		return r;
	dump_word(d, " x ");
	dump_escaped(d, name.base, name.size);
	dump_char(d, ' ');
	for (uint64_t at = 0, n; at < value.size; at += n) {
		n = value.size - at < DUMP_STEP ? value.size - at : DUMP_STEP;
		r = dump_make_room(d);
		if (r < 0)
			return r;
		dump_escaped(d, value.base + at, n);
	}
	dump_char(d, '\n');
	return 0;
}

/* Writes " c LENGTH SUM" for a chunk, " h LENGTH" for one that is all zeros. */
static int dump_chunk(struct dump *d, const struct chunk *chunk)
{
	char text[SUM_TEXT_SIZE];
	int r = dump_make_room(d);

	if (r < 0)
		return r;
	dump_word(d, chunk_is_hole(chunk) ? " h" : " c");
	dump_number(d, chunk->length);
	if (!chunk_is_hole(chunk)) {
		dump_char(d, ' ');
		dump_word(d, sum_text(&chunk->sum, text));
	}
	dump_char(d, '\n');
	return 0;
}

/* Repeats the last length bytes so many times. */
static int dump_repeat(struct dump *d, size_t length, uint64_t times)
{
	char line[64]; /* of a hole */
	int r = 0;

	assert(length <= sizeof(line) && length <= d->used);
	memcpy(line, d->text + d->used - length, length);
	for (; r == 0 && times; times--) {
		r = dump_make_room(d);
		memcpy(d->text + d->used, line, length);
		d->used += length;
	}
	return r;
}

/* A long hole has as many lines as one whose chunks have records; only the last chunk of a file may be shorter. */
static int dump_chunks(struct dump *d, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(d->index, inode), run;
	struct chunk chunk;
	size_t before;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i += run) {
		r = chunk_get_run(d->index, inode, i, &chunk, &run, d->err);
		if (r < 0)
			return r;
		if (run > 1 && i + run == count)
			run--;
		r = dump_make_room(d);
		before = d->used;
		if (r == 0)
			r = dump_chunk(d, &chunk);
		if (r == 0 && run > 1)
			r = dump_repeat(d, d->used - before, run - 1);
	}
	return r;
}

static int dump_link(struct dump *d, const struct inode *inode)
{
	struct span target;
	int r = inode_link_target(d->index, inode, &target, d->err);

	if (r < 0)
		return r;
	dump_word(d, " t ");
	dump_escaped(d, target.base, target.size);
	dump_char(d, '\n');
	return 0;
}

static int dump_inode(struct dump *d, uint64_t ordinal, uint64_t parent, const char *name, size_t length)
{
	struct inode inode;
	int r;

	r = inode_get(d->index, ordinal, &inode, d->err);
	if (r == 0)
		r = dump_make_room(d);
	if (r < 0)
		return r;
	d->highest = ordinal;
	dump_inode_line(d, &inode, parent, name, length);
	r = inode_xattrs(d->index, &inode, dump_xattr, d, d->err);
	if (r == 0)
		r = dump_make_room(d);
	if (r == 0 && S_ISREG(inode.mode))
		r = dump_chunks(d, &inode);
	if (r == 0 && S_ISLNK(inode.mode))
		r = dump_link(d, &inode);
	return r;
}

/* Writes the inode at its first name; a further name is ORDINAL h PARENT NAME. */
static int dump_entry(void *argument, uint64_t directory, const struct names_entry *entry)
{
	struct dump *d = argument;
	int r;

	if (entry->ordinal > d->highest)
		return dump_inode(d, entry->ordinal, directory, entry->name, entry->name_length);
	r = dump_make_room(d);
	if (r < 0)
		return r;
	dump_digits(d, entry->ordinal, 10, 1);
	dump_word(d, " h");
	dump_number(d, directory);
	dump_char(d, ' ');
	dump_escaped(d, (const uint8_t *)entry->name, entry->name_length);
	dump_char(d, '\n');
	return 0;
}

static int dump_all(struct dump *d)
{
	int r;

	dump_word(d, "datasetfs dump 1\nchunk");
	dump_number(d, UINT64_C(1) << d->index->chunk_log);
	dump_char(d, ' ');
	dump_word(d, sum_name(d->index->shape.chunk_sum));
	dump_char(d, '\n');
	r = dump_inode(d, INODE_ROOT, INODE_ROOT, "/", 1);
	if (r == 0)
		r = names_walk(d->index->names, dump_entry, d);
	return r < 0 ? r : dump_flush(d);
}

int dump_text(struct index *index, int (*put)(void *argument, const char *text, size_t length), void *argument,
	      struct error *err)
{
	struct error why = { 0 };
	struct dump d = { .index = index, .put = put, .argument = argument, .err = &why };
	int r = dump_all(&d);

	if (r == -EINTR)
		return error_pass(err, r, &why);
	if (r < 0)
		return error_set(err, r, "dump: %s", why.reason[0] ? why.reason : strerror(-r));
	return 0;
}

static int dump_hash(void *argument, const char *text, size_t length)
{
	sha256_add(argument, text, length);
	return 0;
}

int dump_digest(struct index *index, uint8_t digest[32], struct error *err)
{
	struct sha256 *sha = sha256_new();
	int r;

	if (!sha)
		return error_no_memory(err);
	r = dump_text(index, dump_hash, sha, err);
	if (r == 0)
		r = sha256_end(sha, digest, err);
	sha256_free(sha);
	return r;
}

int dump_check_digest(struct index *index, const struct version *version, const uint8_t expected[32],
		      const struct catalogue *catalogue, struct error *err)
{
	uint8_t found[32];
	int r = dump_digest(index, found, err);

	if (r < 0 || !memcmp(found, expected, sizeof(found)))
		return r;
	return catalogue_refuse_digest(catalogue, version->label, found, expected, err);
}
