/* SPDX-License-Identifier: MIT */
/* Changes a volume once while every write and flush is recorded, and replays what a crash could have left of them: each
 * prefix, and behind its last flush any subset of the writes, torn between sectors. Each time the volume opens with the
 * versions of before or those of after, and every byte of them is right, in every copy: those of after once one slot of
 * the new state is there.
 * What a publish wrote to one member came in the order and in the pieces that a drive likes.
 * usage: crash [--next SOURCE] [--every N] [--spare FOLDER] [--leave SLOTS] [--lose N] [--without N] VOLUME SEED ROUNDS
 *        CHANGE
 * --next: every Nth time something is published after the crash, to files in FOLDER, and what was there is there
 * afterwards.
 * --leave: in the end the volume is as it was when so many superblock slots had been written and flushed.
 * --lose: every Nth time also without a member: any of them, or the first one that has the newest slot. If no other one
 * has that slot, the volume is what it was before that slot.
 * --without: this member is missing all the time, and all changes go on without it.
 * VOLUME: a file, or those of all members, A,B,C
 * CHANGE: publish SOURCE LABEL [trust] [zstd] | current LABEL | remove LABEL | compact PERCENT | rebalance now |
 *         replace LABEL: the member of --without, whose file has all but a superblock, comes; LABEL becomes current |
 *         add LABEL: the file of --without, the last one, becomes a member; LABEL becomes current |
 *         grow BYTES: the members are devices that are so much larger than the volume on them */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assembly/naming.h"
#include "base/log.h"
#include "format/crash_content.h"
#include "format/crash_trace.h"
#include "output/target.h"
#include "pack.h"
#include "volume/compaction/compaction.h"
#include "volume/transaction/degraded.h"

#define SECTOR 512u
#define PIECE  65536u

static uint32_t without = UINT32_MAX;
static bool is_replaced; /* the member of that number comes with the change */
static bool is_added;    /* and is no member before */
static uint64_t growth;  /* bytes; 0: the members are files */

/* --- the volume's files --- */

struct names {
	char **list;
	uint32_t count;
};

/* Holes are zeros already. */
static void load(const char *path, struct memory *memory)
{
	int fd = open(path, O_RDONLY);
	off_t at = 0, hole;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		die(path, strerror(errno));
	memory_done(memory);
	memory_init(memory, (uint64_t)st.st_size);
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		hole = lseek(fd, at, SEEK_HOLE);
		if (pread(fd, memory->bytes + at, (size_t)(hole - at), at) != hole - at)
			die(path, "cannot read it");
		at = hole;
	}
	close(fd);
}

/* A file that is not there is that of a member that is missing. */
static void load_all(const struct names *names, struct multi_member *ret)
{
	multi_member_init(ret, names->count, 0);
	for (uint32_t i = 0; i < names->count; i++) {
		ret->is_missing[i] = (i == without && !is_replaced && !is_added) || access(names->list[i], F_OK) != 0;
		if (!ret->is_missing[i])
			load(names->list[i], &ret->members[i]);
	}
}

/* Zeros become holes. */
static void store(const char *path, const struct memory *memory)
{
	static const uint8_t zeros[PIECE];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)memory->size) < 0)
		die(path, strerror(errno));
	for (uint64_t at = 0; at < memory->size; at += PIECE) {
		size_t length = memory->size - at < PIECE ? memory->size - at : PIECE;

		if (memcmp(memory->bytes + at, zeros, length) != 0 &&
		    pwrite(fd, memory->bytes + at, length, (off_t)at) != (ssize_t)length)
			die(path, "cannot write it");
	}
	close(fd);
}

static void store_all(const struct names *names, const struct multi_member *volume)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (!volume->is_missing[i])
			store(names->list[i], &volume->members[i]);
		else if (unlink(names->list[i]) < 0 && errno != ENOENT)
			die(names->list[i], strerror(errno));
}

/* The names of those that are there, and whether others may be missing. */
static enum degraded join(const struct names *names, const struct multi_member *volume, char *list, size_t size)
{
	enum degraded degraded = DEGRADED_NOT;

	*list = 0;
	for (uint32_t i = 0; i < names->count; i++)
		if (i == without || volume->is_missing[i])
			degraded = DEGRADED_MOST;
		else
			snprintf(list + strlen(list), size - strlen(list), "%s%s", *list ? "," : "", names->list[i]);
	return degraded;
}

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

static void publish(const char *volume, char **words, int count, enum degraded degraded, struct recorder *recorder)
{
	struct pack_options options;
	struct pack_result result;
	struct error err = { 0 };
	struct target target;

	pack_options_init(&options);
	options.volume = volume;
	options.sources = words;
	options.source_count = 1;
	options.label = words[1];
	options.degraded = degraded;
	for (int i = 2; i < count; i++)
		publish_option(&options, words[i]);
	options.progress = PROGRESS_NONE;
	if (target_open(&options, &target, &err) < 0)
		die("open", err.reason);
	recorder_record(recorder, &target.transaction);
	if (pack_run(&options, &target, &result, &err) < 0)
		die("publish", err.reason);
	target_close(&target);
}

static void compact(struct transaction *transaction, const struct compaction_args *args)
{
	struct compaction compaction;
	struct error err = { 0 };

	if (compaction_run(transaction, args, &compaction, &err) < 0)
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

/* Of one that is to replace a member the columns were copied before. */
static void take_newcomer(struct transaction *transaction, const char *path, const char *label)
{
	struct transaction_member newcomer = { 0 };
	struct error err = { 0 };
	struct site site;
	int r;

	if (site_find(path, &site, &err) < 0 || transaction_begin(transaction, &err) < 0 ||
	    transaction_open_member(path, &site, false, &newcomer, &err) < 0)
		die(path, err.reason);
	site_close(&site);
	newcomer.capacity = SPACE_ENDLESS;
	newcomer.super = transaction->super;
	newcomer.super.member = without;
	newcomer.super.catalogue_length = 0;
	memset(newcomer.super.member_uuid, 0x5a, sizeof(newcomer.super.member_uuid));
	r = is_added ? transaction_add(transaction, &newcomer, &err) :
		       transaction_replace(transaction, without, &newcomer, &err);
	if (r < 0)
		die("newcomer", err.reason);
	change(transaction, "current", label);
}

static void enlarge(const struct names *names)
{
	struct stat st;

	for (uint32_t i = 0; i < names->count; i++)
		if (i != without && (stat(names->list[i], &st) < 0 ||
				     truncate(names->list[i], st.st_size + (off_t)growth) < 0))
			die(names->list[i], strerror(errno));
}

/* Files count as devices from here on, of the size that they have. */
static void pretend(const struct transaction *transaction)
{
	for (uint32_t i = 0; growth && i < transaction->member_count; i++)
		if (transaction->members[i].file)
			transaction->members[i].file->geometry.is_block_device = true;
}

static void grow(struct transaction *transaction)
{
	struct error err = { 0 };

	if (transaction_begin(transaction, &err) < 0)
		die("grow", err.reason);
	for (uint32_t i = 0; i < transaction->member_count; i++)
		if (transaction_grow(transaction, i, &err) < 0)
			die("grow", err.reason);
	if (transaction_commit(transaction, &err) < 0)
		die("grow", err.reason);
}

static void edit_open(const char *volume, struct site *sites, uint32_t count, enum degraded degraded,
		      struct transaction *ret)
{
	const struct transaction_setup setup = { .path = volume, .sites = sites, .count = count, .mode = FILE_WRITE,
						 .leaving = TRANSACTION_ALL_STAY };
	struct error err = { 0 };

	if (transaction_open(&setup, ret, &err) < 0 ||
	    transaction_load(ret, &err) < 0)
		die("open", err.reason);
	ret->degraded = degraded;
	if (is_replaced)
		transaction_await(ret, without);
	pretend(ret);
	if (transaction_check(ret, &err) < 0)
		die("check", err.reason);
}

static void edit(const char *volume, const struct names *names, enum degraded degraded, char **words,
		 struct recorder *recorder)
{
	struct site *sites = calloc(names->count, sizeof(*sites));
	struct transaction transaction;
	struct error err = { 0 };

	if (!sites)
		abort();
	for (uint32_t i = 0; i < names->count; i++) {
		sites[i] = SITE_NONE;
		if (i != without && site_find(names->list[i], &sites[i], &err) < 0)
			die("find", err.reason);
	}
	edit_open(volume, sites, names->count - is_added, is_added ? DEGRADED_NOT : degraded, &transaction);
	recorder_record(recorder, &transaction);
	if (!strcmp(words[0], "compact"))
		compact(&transaction, &(struct compaction_args){ .below = (unsigned)atoi(words[1]) });
	else if (!strcmp(words[0], "rebalance"))
		compact(&transaction, &(struct compaction_args){ .levels = true });
	else if (growth)
		grow(&transaction);
	else if (is_replaced || is_added)
		take_newcomer(&transaction, names->list[without], words[1]);
	else
		change(&transaction, words[0], words[1]);
	transaction_close(&transaction);
	for (uint32_t i = 0; i < names->count; i++)
		site_close(&sites[i]);
	free(sites);
}

/* --- replay --- */

struct options {
	char *next;        /* what is published after a crash; NULL: nothing */
	const char *spare; /* where */
	unsigned every, leave, lose, rounds;
};

struct replay {
	const struct recorder *recorder;
	const struct options *options;
	struct multi_member durable; /* as of the last flush */
	struct multi_member work;    /* what a crash leaves; the same as durable between two crashes */
	struct names spare;          /* files for what is published afterwards */
	struct codec *codec;
	char *before, *after;
	char *former;         /* before that, if its publisher was cut off between two slots; else NULL */
	uint64_t sequence;    /* of the superblock of the state before */
	uint64_t seen_before, seen_after, seen_former, losses, crashes, next;
};

static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void apply(struct multi_member *volume, const struct operation *operation, size_t from, size_t length)
{
	struct memory *memory = &volume->members[operation->member];

	memcpy(memory->bytes + operation->offset + from, operation->bytes + from, length);
	if (operation->offset + from + length > memory->size)
		memory->size = operation->offset + from + length;
}

/* Whole, not at all, or some of its sectors. */
static void apply_maybe(struct multi_member *volume, const struct operation *operation, uint64_t *seed)
{
	uint64_t kind = random_next(seed) >> 20;

	if (kind % 3 == 0)
		apply(volume, operation, 0, operation->length);
	for (size_t at = 0; kind % 3 == 1 && at < operation->length; at += SECTOR)
		if (random_next(seed) >> 40 & 1)
			apply(volume, operation, at, SECTOR);
}

/* As if operations from first up to end had not been. */
static void take_back(struct replay *replay, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct operation *operation = &replay->recorder->operations[i];
		const struct memory *from = &replay->durable.members[operation->member];
		struct memory *to = &replay->work.members[operation->member];

		memcpy(to->bytes + operation->offset, from->bytes + operation->offset, operation->length);
		to->size = from->size;
	}
}

/* Somebody publishes, without a member if it is missing. found: what is there before. */
static void publish_next(struct replay *replay, const char *found)
{
	char *words[] = { replay->options->next, (char *)"next" }, *now, list[4096];
	enum degraded degraded = join(&replay->spare, &replay->work, list, sizeof(list));
	struct multi_member volume;
	struct recorder recorder;

	recorder_init(&recorder, true);
	store_all(&replay->spare, &replay->work);
	publish(list, words, 2, degraded, &recorder);
	load_all(&replay->spare, &volume);
	now = content_describe(&volume, replay->codec);
	if (strncmp(now, found, strcspn(found, ";")) != 0 || !strstr(now, "next "))
		die("the next publish left", now);
	replay->next++;
	free(now);
	multi_member_done(&volume);
	recorder_done(&recorder);
}

/* The newest superblock of those that are there, and the first member that has it. */
static uint64_t newest(struct multi_member *volume, uint32_t *ret_member)
{
	struct superblock super;
	uint64_t sequence = 0;

	for (uint32_t i = 0; i < volume->count; i++)
		if (!volume->is_missing[i] && superblock_find(&volume->source, i, &super, NULL) == 0 &&
		    super.sequence > sequence) {
			sequence = super.sequence;
			*ret_member = i;
		}
	return sequence;
}

/* Which state it is must not depend on anything but the slots that are there. */
static char *check_state(struct replay *replay, size_t at, const char *what)
{
	char *found = content_describe(&replay->work, replay->codec);
	uint32_t member = 0;
	uint64_t sequence = newest(&replay->work, &member);
	const char *expected = sequence < replay->sequence  ? replay->former :
			       sequence == replay->sequence ? replay->before :
							      replay->after;

	if (!expected || strcmp(found, expected) != 0) {
		fprintf(stderr, "crash: %s at operation %zu of %zu, superblock %" PRIu64 ": found '%s', "
			"expected '%s'\n", what, at, replay->recorder->count, sequence, found,
			expected ? expected : "none so old");
		exit(1);
	}
	replay->seen_former += expected == replay->former;
	replay->seen_before += expected == replay->before;
	replay->seen_after += expected == replay->after;
	return found;
}

static void check_loss(struct replay *replay, size_t at, uint64_t *seed)
{
	const struct options *options = replay->options;
	uint32_t member = 0;
	char *found;

	(void)newest(&replay->work, &member);
	if (random_next(seed) >> 30 & 1)
		member = (uint32_t)(random_next(seed) >> 20) % replay->work.count;
	replay->work.is_missing[member] = true;
	found = check_state(replay, at, "one member lost");
	if (options->next && replay->losses % options->every == 0)
		publish_next(replay, found);
	replay->work.is_missing[member] = false;
	free(found);
	replay->losses++;
}

static void judge(struct replay *replay, size_t at, const char *what, uint64_t *seed)
{
	const struct options *options = replay->options;
	char *found = check_state(replay, at, what);

	if (options->lose && replay->crashes % options->lose == 0)
		check_loss(replay, at, seed);
	if (options->next && replay->crashes % options->every == 0)
		publish_next(replay, found);
	replay->crashes++;
	free(found);
}

/* A crash before operation number at; those from flushed on may have arrived or not. */
static void crash(struct replay *replay, size_t flushed, size_t at, uint64_t *seed)
{
	const struct operation *operations = replay->recorder->operations;

	for (size_t i = flushed; i < at; i++)
		apply(&replay->work, &operations[i], 0, operations[i].length);
	judge(replay, at, "prefix", seed);
	take_back(replay, flushed, at);
	for (unsigned round = 0; flushed < at && round < replay->options->rounds; round++) {
		for (size_t i = flushed; i < at; i++)
			apply_maybe(&replay->work, &operations[i], seed);
		judge(replay, at, "subset", seed);
		take_back(replay, flushed, at);
	}
}

/* A slot of what the change puts in force: the last one that was written is. */
static bool is_slot(const struct recorder *recorder, const struct operation *operation)
{
	uint64_t last = UINT64_MAX;

	for (size_t i = 0; i < recorder->count; i++)
		if (!recorder->operations[i].is_flush && recorder->operations[i].offset < DSFS_PUBLISHER_AT)
			last = recorder->operations[i].offset;
	return !operation->is_flush && operation->offset == last;
}

/* left: what the volume is to be in the end. */
static void replay_all(struct replay *replay, uint64_t seed, const struct names *left)
{
	const struct operation *operations = replay->recorder->operations;
	unsigned slots = 0;
	size_t flushed = 0;

	for (size_t at = 0; at <= replay->recorder->count; at++) {
		crash(replay, flushed, at, &seed);
		if (at == replay->recorder->count || !operations[at].is_flush)
			continue;
		for (; flushed < at; flushed++) {
			apply(&replay->durable, &operations[flushed], 0, operations[flushed].length);
			apply(&replay->work, &operations[flushed], 0, operations[flushed].length);
			slots += is_slot(replay->recorder, &operations[flushed]);
		}
		flushed = at + 1;
		if (replay->options->leave && slots == replay->options->leave)
			store_all(left, &replay->durable);
	}
}

/* The state before, with room for what comes. */
static void rewind_to(const struct multi_member *before, const struct multi_member *after, struct multi_member *ret)
{
	multi_member_init(ret, before->count, 0);
	for (uint32_t i = 0; i < before->count; i++) {
		struct memory *memory = &ret->members[i];
		uint64_t size = before->members[i].size;

		memory_done(memory);
		memory_init(memory, size > after->members[i].size ? size : after->members[i].size);
		memcpy(memory->bytes, before->members[i].bytes, size);
		memory->size = size;
		ret->is_missing[i] = before->is_missing[i];
	}
}

static void name_spare(struct replay *replay, const char *folder, uint32_t count)
{
	replay->spare = (struct names){ calloc(count, sizeof(char *)), count };
	if (!replay->spare.list)
		abort();
	for (uint32_t i = 0; i < count; i++)
		if (asprintf(&replay->spare.list[i], "%s/member%" PRIu32, folder, i) < 0)
			abort();
}

/* The volume as it was before, and as it would be without the one member that has the newest slot. */
static void describe_before(struct replay *replay, struct multi_member *before)
{
	uint32_t member = 0;

	replay->before = content_describe(before, replay->codec);
	replay->sequence = newest(before, &member);
	before->is_missing[member] = true;
	if (replay->options->lose && newest(before, &(uint32_t){ 0 }) < replay->sequence)
		replay->former = content_describe(before, replay->codec);
	before->is_missing[member] = false;
}

static void report(const struct replay *replay, const char *verb)
{
	printf("%s: %zu operations, before %" PRIu64 " times, after %" PRIu64 " times, published again %" PRIu64
	       " times\n", verb, replay->recorder->count, replay->seen_before, replay->seen_after, replay->next);
	if (replay->options->lose)
		printf("%s: without a member %" PRIu64 " times, then once more the state before it %" PRIu64 " times\n",
		       verb, replay->losses, replay->seen_former);
	if (!strcmp(replay->before, replay->after) || !replay->seen_before || !replay->seen_after)
		die("replay", "both states must occur");
}

static void prepare(char **words)
{
	is_replaced = !strcmp(words[0], "replace");
	is_added = !strcmp(words[0], "add");
	growth = !strcmp(words[0], "grow") ? strtoull(words[1], NULL, 10) : 0;
}

static void run(const char *volume, uint64_t seed, const struct options *options, char **words, int count)
{
	struct replay replay = { .options = options, .codec = codec_new() };
	struct multi_member before, after;
	struct recorder recorder;
	struct error err = { 0 };
	enum degraded degraded;
	struct names names;
	char list[4096];

	prepare(words);
	if (!replay.codec || naming_split(volume, &names.list, &names.count, &err) < 0)
		die(volume, err.reason);
	if (growth)
		enlarge(&names);
	recorder_init(&recorder, false);
	replay.recorder = &recorder;
	load_all(&names, &before);
	degraded = join(&names, &before, list, sizeof(list));
	if (!strcmp(words[0], "publish"))
		publish(list, words + 1, count - 1, degraded, &recorder);
	else
		edit(list, &names, degraded, words, &recorder);
	if (!strcmp(words[0], "publish") && names.count == 1)
		recorder_check_writes(&recorder);
	load_all(&names, &after);
	describe_before(&replay, &before);
	replay.after = content_describe(&after, replay.codec);
	rewind_to(&before, &after, &replay.durable);
	rewind_to(&before, &after, &replay.work);
	name_spare(&replay, options->spare, names.count);
	replay_all(&replay, seed, &names);
	report(&replay, words[0]);
	recorder_done(&recorder);
	multi_member_done(&before);
	multi_member_done(&after);
	multi_member_done(&replay.durable);
	multi_member_done(&replay.work);
	naming_free(names.list, names.count);
	naming_free(replay.spare.list, replay.spare.count);
	codec_free(replay.codec);
	free(replay.former);
	free(replay.before);
	free(replay.after);
}

int main(int argc, char **argv)
{
	struct options options = { .every = 1, .spare = "." };
	int at = 1;

	for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
		if (!strcmp(argv[at], "--next"))
			options.next = argv[at + 1];
		else if (!strcmp(argv[at], "--every"))
			options.every = (unsigned)atoi(argv[at + 1]);
		else if (!strcmp(argv[at], "--spare"))
			options.spare = argv[at + 1];
		else if (!strcmp(argv[at], "--leave"))
			options.leave = (unsigned)atoi(argv[at + 1]);
		else if (!strcmp(argv[at], "--lose"))
			options.lose = (unsigned)atoi(argv[at + 1]);
		else if (!strcmp(argv[at], "--without"))
			without = (uint32_t)atoi(argv[at + 1]);
	}
	if (argc - at < 5 || !options.every)
		die("usage", "crash [--next SOURCE] [--every N] [--spare FOLDER] [--leave SLOTS] [--lose N] "
			     "[--without N] VOLUME SEED ROUNDS publish SOURCE LABEL [trust] [zstd] | current LABEL | "
			     "remove LABEL | compact PERCENT | rebalance now | replace LABEL | add LABEL | grow BYTES");
	log_set_level(LOG_ERR);
	options.rounds = (unsigned)atoi(argv[at + 2]);
	run(argv[at], strtoull(argv[at + 1], NULL, 10) | 1, &options, argv + at + 3, argc - at - 3);
	return 0;
}
