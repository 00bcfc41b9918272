/* SPDX-License-Identifier: MIT */
/* Changes a volume once while every write and flush is recorded, and replays what a crash could have left of them: each
 * prefix, and behind its last flush any subset of the writes, torn between sectors. Each time the volume opens with the
 * versions of before or those of after, and every byte of them is right.
 * What a publish wrote came in the order and in the pieces that a drive likes.
 * usage: crash VOLUME SEED ROUNDS CHANGE
 * CHANGE: publish SOURCE LABEL [trust] [zstd] | current LABEL | remove LABEL | compact PERCENT */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image/block_sums.h"
#include "image/chunk.h"
#include "image/dump.h"
#include "image/index.h"
#include "image/index_load.h"
#include "image/inode.h"
#include "image/version.h"
#include "lib/memory.h"
#include "output/target.h"
#include "output/writer.h"
#include "pack.h"
#include "volume/compaction.h"

#define SECTOR 512u

struct operation {
	bool is_flush;
	uint64_t offset;
	size_t length;
	uint8_t *bytes;
};

/* Passes everything on to the volume and keeps a copy of what changes it. */
struct recorder {
	struct source source;
	struct source *volume;
	pthread_mutex_t mutex; /* the writer has a thread of its own */
	struct operation *operations;
	size_t count;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "crash: %s: %s\n", what, why);
	exit(1);
}

static void recorder_add(struct recorder *recorder, struct operation operation)
{
	pthread_mutex_lock(&recorder->mutex);
	recorder->operations = realloc(recorder->operations, (recorder->count + 1) * sizeof(operation));
	if (!recorder->operations)
		abort();
	recorder->operations[recorder->count++] = operation;
	pthread_mutex_unlock(&recorder->mutex);
}

static int recorder_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
			 struct error *err)
{
	return source_read(((struct recorder *)source)->volume, member, offset, buffer, length, err);
}

static int recorder_write(struct source *source, uint32_t member, uint64_t offset, const void *buffer, size_t length,
			  struct error *err)
{
	struct recorder *recorder = (struct recorder *)source;
	uint8_t *bytes = malloc(length);

	if (!bytes)
		abort();
	memcpy(bytes, buffer, length);
	recorder_add(recorder, (struct operation){ .offset = offset, .length = length, .bytes = bytes });
	return source_write(recorder->volume, member, offset, buffer, length, err);
}

static int recorder_flush(struct source *source, struct error *err)
{
	struct recorder *recorder = (struct recorder *)source;

	recorder_add(recorder, (struct operation){ .is_flush = true });
	return source_flush(recorder->volume, err);
}

static uint64_t recorder_size(struct source *source, uint32_t member)
{
	return source_size(((struct recorder *)source)->volume, member);
}

static const struct source_ops recorder_ops = { recorder_read, recorder_write, recorder_flush, recorder_size };

/* --- the change --- */

static void publish_option(struct pack_options *options, const char *word)
{
	if (!strcmp(word, "trust"))
		options->trust_mtime = true;
	else if (!strcmp(word, "zstd"))
		options->compress = PACK_ZSTD;
	else
		die(word, "no such option");
}

static void record(struct transaction *transaction, struct recorder *recorder)
{
	recorder->volume = transaction->source;
	transaction->source = &recorder->source;
}

static void publish(const char *volume, char **words, int count, struct recorder *recorder)
{
	struct pack_options options;
	struct pack_result result;
	struct error err = { 0 };
	struct target target;

	pack_options_init(&options);
	options.volume = volume;
	options.source = words[0];
	options.label = words[1];
	for (int i = 2; i < count; i++)
		publish_option(&options, words[i]);
	options.progress = PROGRESS_NONE;
	if (target_open(&options, &target, &err) < 0)
		die("open", err.reason);
	record(&target.transaction, recorder);
	if (pack_run(&options, &target, &result, &err) < 0)
		die("publish", err.reason);
	target_close(&target);
}

static void compact(struct transaction *transaction, unsigned below)
{
	struct compaction compaction;
	struct error err = { 0 };

	if (compaction_run(transaction, below, false, &compaction, &err) < 0)
		die("compact", err.reason);
	if (!compaction.segments)
		die("compact", "nothing to do");
	free(compaction.versions);
}

static void change(struct transaction *transaction, const char *verb, const char *label)
{
	struct version *version = catalogue_by_label(&transaction->catalogue, label);
	struct error err = { 0 };

	if (!version)
		die(verb, "no such version");
	if (!strcmp(verb, "remove"))
		catalogue_remove(&transaction->catalogue, version);
	else
		transaction->catalogue.current = version->sequence;
	if (transaction_commit(transaction, &err) < 0)
		die(verb, err.reason);
}

static void edit(const char *path, const char *verb, const char *word, struct recorder *recorder)
{
	struct transaction transaction;
	struct error err = { 0 };
	struct site site;

	if (site_find(path, &site, &err) < 0 ||
	    transaction_open(path, FILE_WRITE, &site, 1, false, &transaction, &err) < 0 ||
	    transaction_load(&transaction, &err) < 0 || transaction_check(&transaction, &err) < 0)
		die("open", err.reason);
	record(&transaction, recorder);
	if (!strcmp(verb, "compact"))
		compact(&transaction, (unsigned)atoi(word));
	else
		change(&transaction, verb, word);
	transaction_close(&transaction);
	site_close(&site);
}

/* --- the writes of a publish --- */

static void fail_write(const struct operation *operation, const char *why)
{
	fprintf(stderr, "crash: write of %zu bytes at %" PRIu64 ": %s\n", operation->length, operation->offset, why);
	exit(1);
}

/* The next piece of a run, or the first one of another: true. */
static bool check_write(const struct operation *former, const struct operation *write)
{
	if (write->length > WRITER_BUFFER || write->length % DSFS_BLOCK || write->offset % DSFS_BLOCK)
		fail_write(write, "not whole blocks of at most 4 MiB");
	if (!former || write->offset != former->offset + former->length)
		return true;
	if (write->offset % WRITER_BUFFER)
		fail_write(former, "its run goes on, but it does not end at a multiple of 4 MiB");
	return false;
}

/* The last data write is the catalogue, which is placed by itself. */
static void check_writes(const struct recorder *recorder)
{
	const struct operation *former = NULL, *next = NULL;
	size_t count = 0, runs = 0;

	for (size_t i = 0; i < recorder->count; i++) {
		const struct operation *operation = &recorder->operations[i];

		if (operation->is_flush || operation->offset < DSFS_DATA_AT)
			continue;
		if (next) {
			runs += check_write(former, next);
			former = next;
			count++;
		}
		next = operation;
	}
	printf("data: %zu writes, runs %zu\n", count, runs);
}

/* --- what a volume holds --- */

/* The sums of the blocks of a chunk that is right. */
static void check_row(struct block_sums_view *rows, const struct chunk *chunk, uint8_t *content)
{
	struct iovec piece = { content, chunk->length };
	struct error err = { 0 };
	const dsfs_le64 *row;
	int r = block_sums_view_row(rows, chunk->number, &row, &err);

	if (r > 0)
		r = block_sums_verify(row, &piece, 1, &err);
	if (r < 0)
		die("block checksums", err.reason);
}

static void check_chunk(struct memory *memory, struct index *index, const struct chunk *chunk, struct codec *codec,
			struct block_sums_view *rows)
{
	static uint8_t stored[1u << DSFS_CHUNK_LOG_MAX], content[1u << DSFS_CHUNK_LOG_MAX];
	struct error err = { 0 };

	if (chunk_is_inline(chunk))
		memcpy(stored, chunk_inline_bytes(index, chunk), chunk->stored);
	else if (source_read(&memory->source, 0, chunk->address, stored, chunk->stored, &err) < 0)
		die("read", err.reason);
	if (chunk_decode(chunk, codec, stored, content, &err) < 0)
		die("content", err.reason);
	if (chunk->codec == DSFS_CODEC_RAW && !chunk_is_inline(chunk))
		check_row(rows, chunk, content);
}

static void check_chunks(struct memory *memory, struct index *index, struct codec *codec, struct block_sums_view *rows)
{
	struct error err = { 0 };
	struct inode inode;
	struct chunk chunk;

	for (uint64_t ordinal = 1; ordinal <= index->shape.inode_count; ordinal++) {
		if (inode_get(index, ordinal, &inode, &err) < 0)
			die("inode", err.reason);
		for (uint64_t i = 0; S_ISREG(inode.mode) && i < inode_chunk_count(index, &inode); i++) {
			if (chunk_get(index, &inode, i, &chunk, &err) < 0)
				die("chunk", err.reason);
			if (!chunk_is_hole(&chunk))
				check_chunk(memory, index, &chunk, codec, rows);
		}
	}
}

static void check_version(struct memory *memory, const struct version *version, struct codec *codec)
{
	struct error err = { 0 };
	struct block_sums_view *rows = NULL;
	uint8_t digest[32];
	struct index *index;
	struct block_sums *block_sums;

	if (index_load(&memory->source, version, NULL, &index, &err) < 0 || dump_digest(index, digest, &err) < 0)
		die(version->label, err.reason);
	if (memcmp(digest, version->digest, sizeof(digest)) != 0)
		die(version->label, "its digest is another");
	if (block_sums_load(&memory->source, version, &block_sums, &err) < 0 ||
	    block_sums_view_new(block_sums, &memory->source, &rows, &err) < 0)
		die(version->label, err.reason);
	check_chunks(memory, index, codec, rows);
	block_sums_view_free(rows);
	block_sums_close(block_sums);
	index_close(index);
}

/* All versions, each verified, and which is current: as text. */
static char *describe(struct memory *memory, struct codec *codec)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	struct error err = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out;

	if (catalogue_load(&memory->source, &super, &catalogue, &err) < 0)
		die("the volume does not open", err.reason);
	out = open_memstream(&text, &size);
	if (!out)
		abort();
	for (uint32_t i = 0; i < catalogue.version_count; i++) {
		check_version(memory, &catalogue.versions[i], codec);
		fprintf(out, "%s %" PRIu64 "%s,", catalogue.versions[i].label, catalogue.versions[i].sequence,
			catalogue.versions[i].sequence == catalogue.current ? "*" : "");
	}
	fclose(out);
	catalogue_free(&catalogue);
	return text;
}

/* --- replay --- */

static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void apply(struct memory *memory, const struct operation *operation, size_t from, size_t length)
{
	memcpy(memory->bytes + operation->offset + from, operation->bytes + from, length);
	if (operation->offset + from + length > memory->size)
		memory->size = operation->offset + from + length;
}

/* Whole, not at all, or some of its sectors. */
static void apply_maybe(struct memory *memory, const struct operation *operation, uint64_t *seed)
{
	uint64_t kind = random_next(seed) >> 20;

	if (kind % 3 == 0)
		apply(memory, operation, 0, operation->length);
	for (size_t at = 0; kind % 3 == 1 && at < operation->length; at += SECTOR)
		if (random_next(seed) >> 40 & 1)
			apply(memory, operation, at, SECTOR);
}

static void copy(struct memory *to, const struct memory *from)
{
	memset(to->bytes, 0, to->room);
	memcpy(to->bytes, from->bytes, from->size);
	to->size = from->size;
}

struct replay {
	const struct recorder *recorder;
	struct memory durable, work; /* as of the last flush; and what a crash leaves */
	struct codec *codec;
	char *before, *after;
	uint64_t seen_before, seen_after;
};

static void judge(struct replay *replay, size_t at, const char *what)
{
	char *found = describe(&replay->work, replay->codec);

	if (strcmp(found, replay->before) && strcmp(found, replay->after)) {
		fprintf(stderr, "crash: %s at operation %zu of %zu: found '%s', expected '%s' or '%s'\n", what, at,
			replay->recorder->count, found, replay->before, replay->after);
		exit(1);
	}
	replay->seen_before += !strcmp(found, replay->before);
	replay->seen_after += !strcmp(found, replay->after);
	free(found);
}

/* A crash before operation number at; those from flushed on may have arrived or not. */
static void crash(struct replay *replay, size_t flushed, size_t at, unsigned rounds, uint64_t *seed)
{
	const struct operation *operations = replay->recorder->operations;

	copy(&replay->work, &replay->durable);
	for (size_t i = flushed; i < at; i++)
		apply(&replay->work, &operations[i], 0, operations[i].length);
	judge(replay, at, "prefix");
	for (unsigned round = 0; flushed < at && round < rounds; round++) {
		copy(&replay->work, &replay->durable);
		for (size_t i = flushed; i < at; i++)
			apply_maybe(&replay->work, &operations[i], seed);
		judge(replay, at, "subset");
	}
}

static void replay_all(struct replay *replay, unsigned rounds, uint64_t seed)
{
	const struct operation *operations = replay->recorder->operations;
	size_t flushed = 0;

	for (size_t at = 0; at <= replay->recorder->count; at++) {
		crash(replay, flushed, at, rounds, &seed);
		if (at == replay->recorder->count || !operations[at].is_flush)
			continue;
		for (; flushed < at; flushed++)
			apply(&replay->durable, &operations[flushed], 0, operations[flushed].length);
		flushed = at + 1;
	}
}

static void load(const char *path, struct memory *memory, uint64_t room)
{
	FILE *in = fopen(path, "rb");
	struct stat st;

	if (!in || fstat(fileno(in), &st) < 0)
		die(path, strerror(errno));
	memory_init(memory, room > (uint64_t)st.st_size ? room : (uint64_t)st.st_size);
	memory->size = (uint64_t)st.st_size;
	if (fread(memory->bytes, 1, memory->size, in) != memory->size)
		die(path, "cannot read it");
	fclose(in);
}

int main(int argc, char **argv)
{
	struct recorder recorder = { .source.ops = &recorder_ops, .mutex = PTHREAD_MUTEX_INITIALIZER };
	struct replay replay = { .recorder = &recorder, .codec = codec_new() };
	struct memory before;

	if (argc < 6 || !replay.codec)
		die("usage", "crash VOLUME SEED ROUNDS publish SOURCE LABEL [trust] [zstd] | current LABEL | "
			     "remove LABEL | compact PERCENT");
	load(argv[1], &before, 0);
	if (!strcmp(argv[4], "publish")) {
		publish(argv[1], argv + 5, argc - 5, &recorder);
		check_writes(&recorder);
	} else {
		edit(argv[1], argv[4], argv[5], &recorder);
	}
	load(argv[1], &replay.work, 0);
	load(argv[1], &replay.durable, before.size);
	replay.work.room = replay.durable.room;
	replay.before = describe(&before, replay.codec);
	replay.after = describe(&replay.work, replay.codec);
	replay.work.bytes = realloc(replay.work.bytes, replay.work.room);
	copy(&replay.durable, &before);
	replay_all(&replay, (unsigned)atoi(argv[3]), strtoull(argv[2], NULL, 10) | 1);
	printf("%s: %zu operations, before %" PRIu64 " times, after %" PRIu64 " times\n", argv[4], recorder.count,
	       replay.seen_before, replay.seen_after);
	if (!strcmp(replay.before, replay.after) || !replay.seen_before || !replay.seen_after)
		die("replay", "both states must occur");
	for (size_t i = 0; i < recorder.count; i++)
		free(recorder.operations[i].bytes);
	free(recorder.operations);
	free(replay.before);
	free(replay.after);
	codec_free(replay.codec);
	memory_done(&before);
	memory_done(&replay.work);
	memory_done(&replay.durable);
	return 0;
}
