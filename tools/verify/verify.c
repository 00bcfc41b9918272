/* SPDX-License-Identifier: MIT */
/* datasetfsctl verify: checks the superblock ring, the catalogue, each version's index and digest, and every chunk. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/huge.h"
#include "base/log.h"
#include "base/text/parse.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/members/address.h"
#include "image/names/names.h"
#include "image/sums/sha256.h"
#include "text.h"
#include "trust/trust.h"
#include "verb.h"
#include "verify/copies.h"
#include "verify/report.h"
#include "verify/shard.h"
#include "verify/superblocks.h"
#include "verify/turns.h"
#include "volume.h"

#define VERIFY_STEP (1u << 20) /* bytes of a read whose bytes are only summed */

struct verify_options {
	struct verb_options common;
	struct selection_share share;
	uint64_t jobs;
	bool has_seed;
};

struct verify {
	struct verify_options options;
	struct volume *volume;
	struct report report;
};

/* --- command line --- */

static int verify_set_sample(void *target, const char *argument, struct error *err)
{
	struct verify_options *options = target;
	char *end;
	double percent;

	percent = strtod(argument, &end);
	if (*end == '%')
		end++;
	if (end == argument || *end || !(percent > 0 && percent <= 100))
		return error_set(err, -EINVAL, "'%s', expected a percentage above 0 and up to 100", argument);
	options->share.sample = percent / 100;
	return 0;
}

static int verify_set_shard(void *target, const char *argument, struct error *err)
{
	struct verify_options *options = target;

	return shard_parse(argument, &options->share.shard, &options->share.shard_count, err);
}

static int verify_set_seed(void *target, const char *argument, struct error *err)
{
	struct verify_options *options = target;

	options->has_seed = true;
	return parse_u64(argument, 0, UINT64_MAX, &options->share.seed, err);
}

static const struct option_spec verify_table[] = {
	{ "sample", 0, "P%", OPTION_CALL(verify_set_sample), "check a random share of the chunks (default 100%)" },
	{ "seed", 0, "N", OPTION_CALL(verify_set_seed), "repeat a sample: use the seed that it showed" },
	{ "shard", 0, "N/T", OPTION_CALL(verify_set_shard), "check the N-th of T shares of the chunks" },
	{ "jobs", 'j', "N", OPTION_NUMBER(struct verify_options, jobs, 1, TURNS_JOBS_MAX),
	  "read with N threads (default one for each CPU, from 4 to 32)" },
	VERB_OPTION_MAX_BANDWIDTH,
	VERB_OPTIONS_DEMANDS,
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line verify_line = {
	.program = "datasetfsctl verify",
	.usage = "VOLUME [LABEL...]",
	.operands = { 1, OPERANDS_ANY },
	.summary = "Read a volume and check everything on it.\n"
		   "Checks the superblock, the catalogue and, for every version or those given, the\n"
		   "index, the digest, the block checksums, the stat cache and every chunk. Lists at\n"
		   "most 20 damaged chunks of a version and counts the rest.\n"
		   "Exit status: 0 clean, 1 damaged, 2 something could not be checked.",
	.options = verify_table,
};

/* --- the volume's own structures --- */

static enum report_state verify_state(int r)
{
	if (r == 0)
		return REPORT_SOUND;
	return error_is_damage(r) ? REPORT_DAMAGED : REPORT_UNKNOWN;
}

static void verify_report_found(struct verify *v, const char *what, const struct superblocks_found *found)
{
	bool is_empty = found->result == 0 && found->is_empty;

	report_part(&v->report, what, is_empty ? REPORT_EMPTY : verify_state(found->result), &found->err);
}

/* Checks the slots and the publisher record of a member. */
static void verify_in_place(struct verify *v, uint32_t member, const char *whose)
{
	struct source *source = &v->volume->array->source;
	struct superblocks_found found[DSFS_SLOT_COUNT], record;
	char what[64];

	superblocks_check_slots(source, member, found);
	for (uint32_t slot = 0; slot < DSFS_SLOT_COUNT; slot++) {
		snprintf(what, sizeof(what), "superblock slot %" PRIu32 "%s", slot, whose);
		verify_report_found(v, what, &found[slot]);
	}
	superblocks_check_publisher(source, member, &record);
	snprintf(what, sizeof(what), "publisher record%s", whose);
	verify_report_found(v, what, &record);
}

/* Checks the slots, the publisher record and the copy of the catalogue of one member of several. */
static void verify_member(struct verify *v, uint32_t member)
{
	struct source *source = &v->volume->array->source;
	struct catalogue catalogue = { 0 };
	struct superblock super;
	struct error err = { 0 };
	char whose[32], what[64];
	int r;

	if (!v->volume->names[member]) {
		snprintf(what, sizeof(what), "member %" PRIu32, member);
		error_set(&err, -ENODEV, "it is missing");
		report_part(&v->report, what, REPORT_UNKNOWN, &err);
		return;
	}
	snprintf(whose, sizeof(whose), " of member %" PRIu32, member);
	verify_in_place(v, member, whose);
	r = superblock_find(source, member, &super, &err);
	if (r == 0)
		r = catalogue_load_by(source, &super, &catalogue, &err);
	catalogue_free(&catalogue);
	snprintf(what, sizeof(what), "catalogue%s", whose);
	report_part(&v->report, what, verify_state(r), &err);
}

/* Checks slots and publisher record of the only member. False: it has no superblock. */
static bool verify_only_member(struct verify *v)
{
	struct error err = { 0 };
	int r;

	verify_in_place(v, 0, "");
	r = superblock_find(&v->volume->array->source, 0, &v->volume->super, &err);
	report_part(&v->report, "superblock", verify_state(r), &err);
	return r == 0;
}

static void verify_structures(struct verify *v)
{
	struct error err = { 0 };
	int r;

	volume_set_patience(v->volume, FILE_WAITS);
	if (v->volume->array->count == 1 && !verify_only_member(v))
		return;
	for (uint32_t i = 0; v->volume->array->count > 1 && i < v->volume->array->count; i++)
		verify_member(v, i);
	r = volume_load(v->volume, &err);
	report_part(&v->report, "catalogue", verify_state(r), &err);
}

/* --- versions --- */

/* Returns whether the version was removed meanwhile: a publisher may then have overwritten it, which is no damage. A
 * version that compaction moved has a new sequence. */
static bool verify_is_gone(const struct verify *v, const struct version *version)
{
	struct catalogue catalogue;
	struct superblock super;
	bool gone;

	if (catalogue_load(&v->volume->array->source, NULL, &super, &catalogue, NULL) < 0)
		return false;
	gone = memcmp(super.volume_uuid, v->volume->super.volume_uuid, sizeof(super.volume_uuid)) != 0 ||
	       !catalogue_holds(&catalogue, version->sequence, version->uuid);
	catalogue_free(&catalogue);
	return gone;
}

static void verify_part(struct verify *v, const struct version *version, const char *what, int r,
			const struct error *err)
{
	enum report_state state = verify_state(r);

	if (state == REPORT_DAMAGED && verify_is_gone(v, version))
		state = REPORT_REMOVED;
	report_part(&v->report, what, state, err);
}

static void verify_digest(struct verify *v, const struct version *version, struct index *index)
{
	const struct demands *demands = &v->options.common.demands;
	uint8_t digest[sizeof(version->digest)];
	struct error err = { 0 };
	int r;

	r = dump_digest(index, digest, &err);
	if (r == 0 && memcmp(digest, version->digest, sizeof(digest)) != 0)
		r = error_set(&err, -EBADMSG, "its SHA-256 is not the one in the catalogue");
	if (r == 0 && demands->has_digest && memcmp(digest, demands->digest, sizeof(digest)) != 0)
		r = error_set(&err, -EBADMSG, "it is not the expected one");
	report_part(&v->report, "digest", verify_state(r), &err);
}

/* A signature proves the digest in the catalogue; verify_digest() says whether the index has it. */
static void verify_signature(struct verify *v, const struct version *version)
{
	struct trust_signer signer;
	struct error err = { 0 };
	int r;

	if (!v->options.common.demands.trust.signers)
		return;
	r = trust_check(&v->options.common.demands.trust, version, v->volume->catalogue.volume_uuid, &signer, &err);
	report_part(&v->report, "signature", r == -EKEYREJECTED ? REPORT_DAMAGED : verify_state(r), &err);
}

static void verify_counts(struct verify *v, const struct version *version, const struct selection_counts *counts)
{
	struct error err = { 0 };

	if (counts->files != version->file_count || counts->directories != version->directory_count ||
	    counts->symlinks != version->symlink_count || counts->content_bytes != version->content_bytes)
		error_set(&err, -EBADMSG,
			  "files=%" PRIu64 " directories=%" PRIu64 " symlinks=%" PRIu64 " bytes=%" PRIu64
			  ", the catalogue has %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64,
			  counts->files, counts->directories, counts->symlinks, counts->content_bytes,
			  version->file_count, version->directory_count, version->symlink_count,
			  version->content_bytes);
	report_part(&v->report, "counts", verify_state(err.code), &err);
}

/* Checks all windows. The counts are known, and compared, after the first one. */
static int verify_windows(struct verify *v, const struct version *version, struct selection *selection,
			  const struct check_setup *setup, struct check_counts *counts, struct error *err)
{
	int r, more;

	more = selection_next(selection, err);
	if (more < 0)
		return more;
	verify_counts(v, version, &selection->counts);
	v->report.selected = selection->counts.selected;
	while (more > 0) {
		r = check_window(setup, selection->window.items, selection->window.count, counts, err);
		if (r < 0)
			return r;
		more = selection_next(selection, err);
	}
	return more;
}

static int verify_hash_source(struct source *source, const struct members *members, const struct version *version,
			      struct error *err)
{
	auto_free uint8_t *buffer = huge_alloc(VERIFY_STEP);
	uint64_t step;
	struct sha256 *sha = sha256_new();
	uint8_t found[SHA256_SIZE];
	int r = buffer && sha ? 0 : error_no_memory(err);

	for (uint64_t at = 0; r == 0 && at < version->source.length; at += step) {
		step = version->source.length - at < VERIFY_STEP ? version->source.length - at : VERIFY_STEP;
		r = extent_list_read(&version->source.extents, backing_of(source, members), at, buffer, step, err);
		if (r == 0)
			sha256_add(sha, buffer, step);
	}
	if (r == 0)
		r = sha256_end(sha, found, err);
	sha256_free(sha);
	if (r == 0 && memcmp(found, version->source.sha256, sizeof(found)) != 0)
		r = error_set(err, -EBADMSG, "its SHA-256 is not the one in the catalogue");
	return r;
}

/* Checks the source section, on which --trust-mtime relies. */
static void verify_source(struct verify *v, const struct version *version)
{
	struct error err = { 0 };
	int r;

	if (!version->source.length)
		return;
	r = verify_hash_source(&v->volume->array->source, &v->volume->catalogue.members, version, &err);
	verify_part(v, version, "source section", r, &err);
}

/* Loads and checks the head of the block checksums. If it is damaged, the rest of them is not checked. */
static void verify_block_sums(struct verify *v, const struct version *version, struct block_sums **ret)
{
	struct error err = { 0 };
	int r;

	if (!version->block_sums.length)
		return;
	r = block_sums_load(volume_backing(v->volume), version, ret, &err);
	verify_part(v, version, "block checksums", r, &err);
}

/* Checks that all copies of a section are equal. Other parts of the report say whether its content is right: they read
 * the first copy that is. */
static void verify_copies(struct verify *v, const struct version *version, const char *what,
			  const struct extent_list *extents)
{
	struct error err = { 0 };
	int r;

	if (!v->volume->catalogue.members.count)
		return;
	r = copies_compare(&v->volume->array->source, &v->volume->catalogue.members, extents, &err);
	verify_part(v, version, what, r, &err);
}

static void verify_chunks(struct verify *v, const struct version *version, struct index *index,
			  const struct block_sums *block_sums)
{
	struct damage_list damage;
	struct check_setup setup = { .volume = v->volume->array,
				     .index = index,
				     .block_sums = block_sums,
				     .jobs = (unsigned)v->options.jobs,
				     .damage = &damage,
				     .progress = report_progress,
				     .argument = &v->report };
	const struct selection_setup selection_setup = { .index = index,
					      .block_sums = block_sums,
					      .segments = &version->segments,
					      .share = &v->options.share,
					      .damage = &damage };
	struct check_counts counts = { 0 };
	struct selection selection = { 0 };
	struct error err = { 0 };
	int r;

	damage_init(&damage);
	r = selection_open(&selection_setup, &selection, &err);
	if (r == 0)
		r = verify_windows(v, version, &selection, &setup, &counts, &err);
	if (r < 0)
		verify_part(v, version, "chunks", r, &err);
	if (damage.count && verify_is_gone(v, version)) {
		damage.count = damage.shown_count = 0;
		v->report.version_is_gone = true;
	}
	report_end_version(&v->report, index, &damage, &counts, &selection.counts);
	selection_close(&selection);
	damage_end(&damage);
}

static void verify_version(struct verify *v, const struct version *version)
{
	struct index *index = NULL;
	struct block_sums *block_sums = NULL;
	struct error err = { 0 };
	int r;

	report_begin_version(&v->report, version);
	r = index_load(volume_backing(v->volume), version, &index, &err);
	verify_part(v, version, "index", r, &err);
	if (r < 0) {
		report_end_version(&v->report, NULL, NULL, NULL, NULL);
	} else {
		verify_digest(v, version, index);
		verify_signature(v, version);
		verify_block_sums(v, version, &block_sums);
		verify_source(v, version);
		verify_copies(v, version, "copies of the index", &version->index.extents);
		verify_copies(v, version, "copies of the block checksums", &version->block_sums.extents);
		verify_copies(v, version, "copies of the source section", &version->source.extents);
		verify_chunks(v, version, index, block_sums);
	}
	block_sums_close(block_sums);
	index_close(index);
}

static bool verify_is_wanted(const struct version *version, char **labels, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(labels[i], version->label))
			return true;
	return count == 0;
}

static int verify_check_labels(const struct verify *v, char **labels, int count, struct error *err)
{
	const struct version *version;
	int r;

	for (int i = 0; i < count; i++) {
		r = volume_version(v->volume, labels[i], &version, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Loads the volume. A damaged one is accepted; one whose magic is gone everywhere is refused as no volume of ours. */
static int verify_first_look(struct verify *v, char **labels, int count, struct error *err)
{
	bool seen = false;
	int r;

	r = volume_load(v->volume, err);
	if (r == 0)
		return verify_check_labels(v, labels, count, err);
	if (error_is_damage(r) && superblock_seen(&v->volume->array->source, 0, &seen, NULL) < 0)
		return r;
	return seen ? 0 : r;
}

static int verify_all(struct verify *v, const char *name, char **labels, int count)
{
	report_begin(&v->report, v->volume->path, v->options.common.json);
	catalogue_free(&v->volume->catalogue);
	verify_structures(v);
	report_begin_versions(&v->report, &v->options.share);
	if (v->options.share.sample < 1 && !v->options.common.json)
		text_print("'%s': a sample of %g %% seed=%" PRIu64 "\n", name, v->options.share.sample * 100,
			   v->options.share.seed);
	for (uint32_t i = 0; i < v->volume->catalogue.version_count; i++)
		if (verify_is_wanted(&v->volume->catalogue.versions[i], labels, count))
			verify_version(v, &v->volume->catalogue.versions[i]);
	return report_end(&v->report);
}

/* Draws a seed of 32 bits: short to type again, and exact in every JSON reader. */
static int verify_draw_seed(uint64_t *ret)
{
	uint32_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return -EIO;
	*ret = seed;
	return 0;
}

int verify_run(int argc, char **argv)
{
	struct verify v = { .options = { .share = { .shard_count = 1, .sample = 1 },
					 .jobs = turns_default_jobs() } };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&verify_line, argc, argv, &v.options, &operands, &status))
		return status;
	if (v.options.common.demands.has_digest && operands != 2)
		r = error_set(&err, -EINVAL, "--digest needs one LABEL, which has it");
	else
		r = demands_check(&v.options.common.demands, &err);
	if (r < 0) {
		log_err("%s", err.reason);
		return VERIFY_INCOMPLETE;
	}
	if (!v.options.has_seed && verify_draw_seed(&v.options.share.seed) < 0) {
		log_err("cannot verify '%s': no random seed: %m", argv[1]);
		return VERIFY_INCOMPLETE;
	}
	r = volume_open(argv[1], &volume, &err);
	v.volume = volume;
	if (r == 0)
		r = volume_pace(volume->array, v.options.common.max_bandwidth, &err);
	if (r == 0)
		r = verify_first_look(&v, argv + 2, operands - 1, &err);
	if (r < 0) {
		log_error(&err, "cannot verify '%s'", argv[1]);
		return VERIFY_INCOMPLETE;
	}
	return verify_all(&v, argv[1], argv + 2, operands - 1);
}
