/* SPDX-License-Identifier: MIT */
/* One publish from the source to the superblock: who runs when, and what is cleaned up afterwards. */
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "content/known.h"
#include "content/reader.h"
#include "content/trust.h"
#include "image/codec.h"
#include "image/fine.h"
#include "layout/assemble.h"
#include "layout/estimate.h"
#include "layout/feed.h"
#include "layout/sequence.h"
#include "output/publish.h"
#include "output/target.h"
#include "source/scan.h"

#define PACK_SETTLE         2 /* seconds: more than the step of any file system's clock */
#define PACK_LISTING_BUDGET (4u << 20) /* bytes of names in memory, of each directory read ahead */

/* Everything a run holds; a zeroed one can be closed. */
struct packer {
	const struct pack_options *options;
	struct target *target;
	struct transaction *transaction; /* the target's */
	struct temp *temp;
	struct from_list *from_list;
	struct progress *progress;
	int source_fd;
	struct places places;
	struct writer *writer;
	struct sequence sequence;
	struct kinds *kinds;
	struct known known;
	struct trust trust;
	bool has_known, has_trust;
	struct fine *fine; /* of the trusted version */
	struct reader_setup reader;
	struct pipeline *pipeline;
	struct index_writer *names;
	struct feed feed;
	struct scan_setup scan;
	struct scan_counts counts; /* the scan thread's until it was joined */
	struct version version;
};

static void packer_close(struct packer *packer)
{
	pipeline_close(packer->pipeline);
	index_writer_abort(packer->names);
	fine_view_free(packer->sequence.rows);
	fine_close(packer->fine);
	sequence_close(&packer->sequence);
	known_close(&packer->known);
	trust_close(&packer->trust);
	writer_close(packer->writer);
	free(packer->kinds);
	progress_close(packer->progress);
	from_list_close(packer->from_list);
	temp_close(packer->temp);
	places_close(&packer->places);
	close_fd(&packer->source_fd);
	free(packer->version.segments.items);
	free(packer->version.index.items);
}

/* The source, temporary files and the list: what a dry run needs as well. */
static int packer_open_source(struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;
	int r;

	packer->source_fd = open(options->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (packer->source_fd < 0)
		return error_errno(err, "cannot open source '%s'", options->source);
	places_open(&packer->places, packer->source_fd);
	r = target_open_temp(packer->target, options, &packer->temp, err);
	if (r == 0 && options->from_list)
		r = from_list_open(packer->temp, options->from_list, &packer->from_list, err);
	if (r < 0)
		return r;
	packer->scan = (struct scan_setup){
		.list = { &packer->places, options->filter, packer->temp, PACK_LISTING_BUDGET },
		.from_list = packer->from_list,
		.refuse_special = options->refuse_special,
		.volume_device = packer->target->device,
		.volume_inode = packer->target->inode,
	};
	return 0;
}

/* LMDB opens by name: a file without one has it in /proc. */
static int packer_open_names(struct packer *packer, struct error *err)
{
	auto_close int fd = -1;
	char path[32];
	int r = temp_file(packer->temp, &fd, err);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return index_writer_open(path, &packer->names, err);
}

static unsigned packer_jobs(const struct pack_options *options)
{
	cpu_set_t cpus;

	if (options->jobs)
		return options->jobs;
	return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
}

static int packer_open_pipeline(struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;
	struct pipeline_work work = { reader_work, reader_new, reader_free, &packer->reader };

	packer->reader = (struct reader_setup){ options->chunk_log, options->level,
						packer->has_known ? &packer->known : NULL,
						packer->has_trust ? &packer->trust : NULL };
	descriptors_raise_limit(); /* a batch keeps some directories open */
	return pipeline_open(&work, packer_jobs(options), options->compress != PACK_RAW, &packer->pipeline, err);
}

/* A version that cannot be read is one with which nothing is shared. */
static int packer_add_known(struct packer *packer, const struct version *version, struct error *err)
{
	struct earlier earlier = { 0 };
	struct error why = { 0 };
	bool trusted = packer->has_trust && packer->trust.version == version;
	const char *what = "nothing";
	int r = 0;

	if (!trusted)
		r = earlier_open(packer->temp, transaction_source(packer->transaction),
				 packer->transaction->super.member_size, version, false, &earlier, &why);
	if (r == 0) {
		what = "nothing more"; /* than what came before the bad record */
		r = known_add(&packer->known, trusted ? &packer->trust.earlier : &earlier, &why);
	}
	earlier_close(&earlier);
	if (error_is_damage(r)) {
		log_warn("%s is shared with version '%s': %s, ignoring", what, version->label, why.reason);
		return 0;
	}
	return r < 0 ? error_set(err, r, "%s", why.reason) : 0;
}

/* What the versions on the volume have, the newest first. */
static int packer_open_known(struct packer *packer, struct error *err)
{
	const struct catalogue *catalogue = &packer->transaction->catalogue;
	int r;

	if (packer->transaction->is_new || !catalogue->version_count)
		return 0;
	progress_phase(packer->progress, "earlier versions", 0);
	r = known_open(&packer->known, packer->temp, transaction_source(packer->transaction),
		       packer->transaction->super.member_size, packer->options->chunk_log, err);
	for (uint32_t i = catalogue->version_count; r == 0 && i-- > 0;)
		r = packer_add_known(packer, &catalogue->versions[i], err);
	packer->has_known = r == 0;
	return r;
}

/* For files that are not read. */
static int packer_open_fine(struct packer *packer, const struct version *version, struct error *err)
{
	struct error why = { 0 };
	int r = fine_load(transaction_source(packer->transaction), version, &packer->fine, &why);

	if (r == -ENOMEM)
		return error_set(err, r, "%s", why.reason);
	if (r < 0)
		log_warn("unread files go without fine sums: %s, ignoring", why.reason);
	return 0;
}

static int packer_open_trust(struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;
	const struct catalogue *catalogue = &packer->transaction->catalogue;
	const struct version *version;
	struct error why = { 0 };
	int r;

	if (!options->trust_mtime)
		return 0;
	version = options->trusted ? catalogue_by_label(catalogue, options->trusted) : catalogue_current(catalogue);
	if (!version && options->trusted)
		return error_set(err, -ENOENT, "option '--trust-mtime': volume '%s' has no version '%s'",
				 packer->target->path, options->trusted);
	if (!version) /* the first one: there is nothing to compare with */
		return 0;
	r = trust_open(&packer->trust, packer->temp, transaction_source(packer->transaction),
		       packer->transaction->super.member_size, version, options->chunk_log, &why);
	packer->has_trust = r == 0;
	if (r == -ENOENT || error_is_damage(r))
		log_warn("every file is read: %s, ignoring", why.reason);
	else if (r < 0)
		return error_set(err, r, "%s", why.reason);
	return packer->has_trust ? packer_open_fine(packer, version, err) : 0;
}

static int packer_open_sequence(struct packer *packer, struct error *err)
{
	const struct catalogue *catalogue = &packer->transaction->catalogue;
	int r = sequence_open(&packer->sequence, packer->temp, packer->options->chunk_log, err);

	if (r == 0 && packer->has_known) /* about as many files as the newest version has */
		r = table_reserve(&packer->sequence.files,
				  catalogue->versions[catalogue->version_count - 1].file_count, err);
	if (r < 0)
		return r;
	packer->kinds = calloc(1, sizeof(*packer->kinds));
	if (!packer->kinds)
		return error_set(err, -ENOMEM, "out of memory");
	packer->sequence.writer = packer->writer;
	packer->sequence.space = &packer->transaction->space;
	packer->sequence.progress = packer->progress;
	packer->sequence.known = packer->has_known ? &packer->known : NULL;
	packer->sequence.trust = packer->has_trust ? &packer->trust : NULL;
	if (packer->fine)
		r = fine_view_new(packer->fine, transaction_source(packer->transaction), &packer->sequence.rows, err);
	if (r < 0)
		return r;
	packer->sequence.remember = !packer->options->has_uuid;
	packer->sequence.settled = time(NULL) - PACK_SETTLE;
	packer->sequence.kinds = packer->options->compress == PACK_AUTO ? packer->kinds : NULL;
	return 0;
}

static int packer_open(struct packer *packer, struct error *err)
{
	int r;

	r = packer_open_source(packer, err);
	if (r == 0)
		r = progress_open(packer->options->progress, &packer->progress, err);
	if (r == 0)
		r = writer_open(transaction_source(packer->transaction), &packer->transaction->space, packer->temp,
				&packer->writer, err);
	if (r == 0)
		r = packer_open_trust(packer, err);
	if (r == 0)
		r = packer_open_known(packer, err);
	if (r == 0)
		r = packer_open_sequence(packer, err);
	if (r == 0)
		r = packer_open_pipeline(packer, err);
	if (r == 0)
		r = packer_open_names(packer, err);
	return r;
}

/* --- the run --- */

static void *packer_scan(void *argument)
{
	struct packer *packer = argument;
	struct error why = { 0 };
	int r;

	r = scan_run(&packer->scan, &packer->counts, &why);
	if (r == 0)
		feed_flush(&packer->feed);
	pipeline_end(packer->pipeline, r, &why);
	return NULL;
}

static int packer_consume(struct packer *packer, struct error *err)
{
	struct batch *batch;
	int r;

	while ((r = pipeline_take(packer->pipeline, &batch, err)) > 0) {
		r = sequence_batch(&packer->sequence, batch, err);
		if (r < 0)
			return r;
		pipeline_give_back(packer->pipeline, batch);
	}
	return r;
}

/* The scan, the readers and the taker side by side, until the last chunk is with the writer. */
static int packer_content(struct packer *packer, struct error *err)
{
	pthread_t thread;
	int r;

	progress_phase(packer->progress, "packing", 0);
	packer->feed = (struct feed){ .options = packer->options,
				      .pipeline = packer->pipeline,
				      .names = packer->names,
				      .kinds = packer->kinds,
				      .trust = packer->has_trust ? &packer->trust : NULL };
	packer->scan.sink = feed_sink(&packer->feed);
	r = pthread_create(&thread, NULL, packer_scan, packer);
	if (r)
		return error_set(err, -r, "cannot start a thread: %s", strerror(r));
	r = packer_consume(packer, err);
	if (r < 0)
		pipeline_stop(packer->pipeline);
	pthread_join(thread, NULL);
	pipeline_close(take_ptr(&packer->pipeline));
	sequence_end(&packer->sequence);
	return r;
}

static void packer_fill_version(struct packer *packer)
{
	const struct sequence_counts *counts = &packer->sequence.counts;
	struct version *version = &packer->version;

	version->chunk_log = packer->options->chunk_log;
	version->chunk_sum = DSFS_SUM_XXH3_64;
	version->feature_incompat = (packer->sequence.has_frames ? DSFS_VERSION_INCOMPAT_ZSTD : 0) |
				    (packer->sequence.holes.all ? DSFS_VERSION_INCOMPAT_HOLES : 0);
	version->shape.inode_count = packer->counts.inodes;
	version->shape.entry_count = packer->counts.entries;
	version->file_count = counts->files;
	version->directory_count = counts->directories;
	version->symlink_count = counts->symlinks;
	version->content_bytes = counts->content_bytes;
	version->stored_bytes = space_taken(&packer->transaction->space);
}

static int packer_index(struct packer *packer, struct error *err)
{
	uint64_t end = space_end(&packer->transaction->space);
	auto_close int fd = -1;
	int r;

	if (end < packer->transaction->super.member_size) /* shared chunks may lie anywhere */
		end = packer->transaction->super.member_size;
	progress_phase(packer->progress, "index", 0);
	packer_fill_version(packer);
	r = assemble_section(&packer->sequence, take_ptr(&packer->names), packer->temp, &packer->version, &fd, err);
	if (r == 0)
		r = assemble_stream(packer->writer, packer->temp, fd, end, packer->progress, &packer->version, err);
	if (r == 0)
		r = publish_uuid(packer->target, &packer->version, err);
	if (r == 0)
		r = assemble_memory(packer->writer, &packer->sequence, &packer->version, err);
	if (r == 0)
		r = assemble_fine(packer->writer, packer->temp, &packer->sequence, &packer->version, err);
	return r;
}

static void packer_result(const struct packer *packer, struct pack_result *ret)
{
	const struct sequence_counts *counts = &packer->sequence.counts;
	const struct version *version = &packer->version;

	*ret = (struct pack_result){
		.sequence = version->sequence,
		.current = !packer->options->no_current,
		.files = counts->files,
		.directories = counts->directories,
		.symlinks = counts->symlinks,
		.hard_links = counts->links,
		.special = packer->counts.special,
		.clamped = counts->clamped,
		.content_bytes = counts->content_bytes,
		.stored_bytes = version->stored_bytes,
		.shared_bytes = counts->shared_bytes,
		.hole_bytes = counts->hole_bytes,
		.read_bytes = counts->read_bytes,
		.unchanged = counts->unchanged,
		.index_bytes = version->index_length,
		.fine_bytes = version->fine.length,
	};
	memcpy(ret->label, version->label, sizeof(ret->label));
	memcpy(ret->volume_uuid, packer->transaction->super.volume_uuid, sizeof(ret->volume_uuid));
	memcpy(ret->version_uuid, version->uuid, sizeof(ret->version_uuid));
	memcpy(ret->digest, version->digest, sizeof(ret->digest));
}

static int packer_publish(struct packer *packer, struct pack_result *ret, struct error *err)
{
	int r = packer_index(packer, err);

	if (r < 0)
		return r;
	packer_result(packer, ret);
	r = publish_run(packer->target, packer->writer, &packer->version, !packer->options->no_current,
			packer->progress, err);
	ret->written_bytes = space_taken(&packer->transaction->space);
	return r;
}

/* What only packing needed. */
static void *packer_forget(void *argument)
{
	struct packer *packer = argument;

	pipeline_close(take_ptr(&packer->pipeline));
	known_close(&packer->known);
	trust_close(&packer->trust);
	return NULL;
}

/* Large temporary files are closed meanwhile, as that takes a while; without a thread packer_close() does it. */
static int packer_publish_and_forget(struct packer *packer, struct pack_result *ret, struct error *err)
{
	pthread_t thread;
	bool forgetting = pthread_create(&thread, NULL, packer_forget, packer) == 0;
	int r = packer_publish(packer, ret, err);

	if (forgetting)
		pthread_join(thread, NULL);
	return r;
}

static int packer_run(struct packer *packer, struct pack_result *ret, struct error *err)
{
	int r;

	r = publish_name(packer->target, packer->options, &packer->version, err);
	if (r == 0)
		r = packer_open(packer, err);
	if (r == 0)
		r = target_begin(packer->target, err);
	if (r == 0)
		r = packer_content(packer, err);
	return r < 0 ? r : packer_publish_and_forget(packer, ret, err);
}

int pack_run(const struct pack_options *options, struct target *target, struct pack_result *ret, struct error *err)
{
	struct packer *packer = calloc(1, sizeof(*packer));
	int64_t start = clock_now();
	struct pack_result result;
	int r;

	if (!packer)
		return error_set(err, -ENOMEM, "out of memory");
	packer->options = options;
	packer->target = target;
	packer->transaction = &target->transaction;
	packer->source_fd = -1;
	r = packer_run(packer, &result, err);
	packer_close(packer);
	free(packer);
	if (r < 0)
		return r;
	if (result.clamped)
		log_warn("%" PRIu64 " modification times are outside 1901 to 2446 and were clamped, ignoring",
			 result.clamped);
	result.volume_bytes = target->transaction.super.member_size;
	result.seconds = (double)(clock_now() - start) / 1e9;
	*ret = result;
	return 0;
}

int pack_dry_run(const struct pack_options *options, struct target *target, struct pack_estimate *ret,
		 struct error *err)
{
	struct packer packer = {
		.options = options, .target = target, .transaction = &target->transaction, .source_fd = -1
	};
	struct estimate *estimate = NULL;
	int r;

	r = publish_check_label(target, options->label, err);
	if (r == 0)
		r = packer_open_source(&packer, err);
	if (r == 0)
		r = estimate_open(options->chunk_log, &estimate, err);
	if (r == 0) {
		packer.scan.sink = estimate_sink(estimate);
		r = scan_run(&packer.scan, &packer.counts, err);
	}
	if (r == 0)
		r = estimate_end(estimate, &packer.counts, target, &packer.transaction->space, ret, err);
	estimate_free(estimate);
	packer_close(&packer);
	return r;
}
