/* SPDX-License-Identifier: MIT */
/* Runs the steps of a publish from the source to the superblock, and cleans up after them. */
#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "base/thread/thread.h"
#include "content/batcher.h"
#include "content/dedup.h"
#include "content/ingest.h"
#include "content/loader.h"
#include "content/stat_cache.h"
#include "image/catalogue/block_sums.h"
#include "image/names/names.h"
#include "image/sums/sum.h"
#include "layout/assemble.h"
#include "layout/closed.h"
#include "layout/estimate.h"
#include "layout/layout.h"
#include "layout/order.h"
#include "layout/ranks.h"
#include "output/publish.h"
#include "output/target.h"
#include "source/archive/tar_child.h"
#include "source/from_list.h"
#include "source/remote/fetcher.h"
#include "source/scan.h"
#include "source/unreadable.h"
#include "trust/signing.h"

#define PACK_SETTLE         2 /* seconds: more than the clock step of any filesystem */
#define PACK_CLOSED_PART    10 /* a warning comes if more than one in this many files and folders is closed */
/* Space beside the content, at most, unless most files are tiny: bytes, and a part of the content. */
#define PACK_OVERHEAD       (UINT64_C(64) << 20)
#define PACK_OVERHEAD_PART  4
#define PACK_LISTING_BUDGET (4u << 20) /* bytes of names in memory for each directory read ahead */

/* The source, if it is a directory. */
struct packer_directory {
	int fd;
	struct beneath beneath; /* of --dereference */
	struct dirfd_cache dirs;
	struct from_list *list;
};

/* The source, if it is archives. */
struct packer_archives {
	struct fetcher fetcher;
	struct tar_child child;
	struct tar_stream stream;
	struct tar_origin origin;
	struct tar_tree tree;
	struct loader loader;
	struct order order;
};

/* The packer's view of the versions that are on the volume. */
struct packer_earlier {
	struct dedup dedup;
	struct stat_cache stat_cache; /* of the trusted version, as are the next two */
	struct block_sums *block_sums;
	struct block_sums_view *block_sums_view;
	bool has_dedup, has_stat_cache;
};

/* Everything that a run uses; a zeroed one can be closed. */
struct packer {
	const struct pack_options *options;
	struct target *target;
	struct transaction *transaction; /* the target's */
	struct temp *temp;
	bool is_archive;
	uint32_t sums;  /* DSFS_SUM_* of the new version */
	bool is_random; /* contents go to random places, with this seed */
	uint64_t seed;
	struct packer_directory directory;
	struct packer_archives archives;
	struct packer_earlier earlier;
	struct progress *progress;
	struct writer *writer;
	struct layout layout;
	struct compress_hints *hints;
	struct ingest_setup ingest;
	struct pipeline *pipeline;
	struct names_writer *names;
	struct batcher batcher;
	struct scan_setup scan;
	struct scan_counts counts; /* belongs to the scan thread until that was joined */
	struct version version;
};

static const struct dedup *packer_dedup(const struct packer *packer)
{
	return packer->earlier.has_dedup ? &packer->earlier.dedup : NULL;
}

static const struct stat_cache *packer_stat_cache(const struct packer *packer)
{
	return packer->earlier.has_stat_cache ? &packer->earlier.stat_cache : NULL;
}

static void packer_close_archives(struct packer_archives *archives)
{
	loader_close(&archives->loader);
	order_close(&archives->order);
	tar_stream_close(&archives->stream);
	tar_child_close(&archives->child);
	fetcher_close(&archives->fetcher);
	tar_tree_close(&archives->tree);
	tar_origin_close(&archives->origin);
}

static void packer_close_earlier(struct packer_earlier *earlier)
{
	block_sums_view_free(earlier->block_sums_view);
	block_sums_close(earlier->block_sums);
	dedup_close(&earlier->dedup);
	stat_cache_close(&earlier->stat_cache);
}

static void packer_close(struct packer *packer)
{
	pipeline_close(packer->pipeline);
	packer_close_archives(&packer->archives);
	names_writer_abort(packer->names);
	layout_close(&packer->layout);
	packer_close_earlier(&packer->earlier);
	writer_close(packer->writer);
	free(packer->hints);
	progress_close(packer->progress);
	from_list_close(packer->directory.list);
	temp_close(packer->temp);
	dirfd_cache_close(&packer->directory.dirs);
	beneath_close(&packer->directory.beneath);
	close_fd(&packer->directory.fd);
	version_free(&packer->version);
}

static bool packer_is_volume(void *argument, uint64_t device, uint64_t inode)
{
	return target_holds(argument, device, inode);
}

/* Opens the source if it is one directory, which is packed as a tree; everything else is packed as archives. */
static int packer_open_directory(struct packer *packer, struct error *err)
{
	const char *source = packer->options->sources[0];

	packer->is_archive = packer->options->source_count > 1 || !strcmp(source, "-") || fetcher_fetches(source);
	if (!packer->is_archive)
		packer->directory.fd = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	packer->is_archive |= packer->directory.fd < 0 && errno == ENOTDIR;
	if (packer->directory.fd < 0 && !packer->is_archive)
		return tar_child_cannot_open(source, err);
	return 0;
}

static unsigned packer_or(unsigned value, unsigned otherwise)
{
	return value == PACK_UNSET ? otherwise : value;
}

static int packer_open_fetcher(struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;
	const struct fetcher_setup setup = {
		.sources = options->sources, .count = options->source_count,
		.endpoint = options->endpoint, .region = options->region, .ca_file = options->ca_file,
		.retries = packer_or(options->retries, PACK_RETRIES),
		.timeout = packer_or(options->timeout, PACK_TIMEOUT),
		.requests = packer_or(options->requests, PACK_REQUESTS),
		/* these options change paths before the filter sees them */
		.filter = options->strip || options->into_folders || options->nested ? NULL : options->filter,
		.no_data = options->dry_run && !options->nested, .refuse_odd = options->refuse_special,
	};
	int r = fetcher_open(&setup, &packer->archives.fetcher, err);

	fetcher_forget(options->sources, options->source_count);
	return r;
}

static int packer_check_options(const struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;
	const char *wrong;

	if (packer->is_archive) {
		wrong = options->trust_mtime ? "--trust-mtime" : options->from_list ? "--from-list" :
			options->dereference ? "--dereference" : NULL;
		if (wrong)
			return error_set(err, -EINVAL, "option '%s' is for a directory, and '%s' is none", wrong,
					 options->sources[0]);
		return 0;
	}
	wrong = options->nested ? "--nested" : options->strip ? "--strip-components" :
		options->into_folders ? "--into-folders" : options->duplicates ? "--on-duplicate" :
		options->require_end ? "--require-end" : options->zip_charset ? "--zip-charset" : NULL;
	return wrong ? error_set(err, -EINVAL, "option '%s' is for archives, and '%s' is a directory", wrong,
				 options->sources[0]) : 0;
}

/* Returns the mtime of folders that no archive names. */
static int packer_epoch(int64_t *ret, struct error *err)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds = 0;
	int r = epoch && *epoch ? parse_u64(epoch, 0, INT64_MAX, &seconds, err) : 0;

	if (r < 0)
		return error_wrap(err, r, "SOURCE_DATE_EPOCH");
	*ret = (int64_t)seconds;
	return 0;
}

static int packer_check_archives(const struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;
	struct stat st;

	for (unsigned i = 0; i < options->source_count; i++)
		if (stat(options->sources[i], &st) == 0 && target_holds(packer->target, st.st_dev, st.st_ino))
			return error_set(err, -EINVAL, "'%s' is the volume itself", options->sources[i]);
	return 0;
}

static int packer_open_archives(struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;
	const char *const *names = (const char *const *)options->sources;
	const struct tar_child *fetcher = &packer->archives.fetcher.process;
	struct tar_child_setup child = { names, options->source_count, options->nested, options->require_end,
					 options->dry_run, options->zip_charset, packer->temp, &options->xattrs,
					 fetcher_fetches, fetcher->fd, fetcher->report };
	struct tar_tree_setup tree = { packer->temp, options->filter, options->strip, 0, &packer->archives.origin };
	struct tar_origin_setup origin = { names, options->source_count, options->into_folders,
					   (enum tar_duplicates)options->duplicates };
	int r;

	r = packer_check_archives(packer, err);
	if (r == 0)
		r = packer_epoch(&tree.epoch, err);
	if (r == 0)
		r = tar_origin_open(&packer->archives.origin, &origin, err);
	if (r == 0)
		r = tar_child_open(&child, &packer->archives.child, err);
	if (r == 0)
		r = tar_stream_open(&packer->archives.stream, tar_child_read, &packer->archives.child, err);
	if (r == 0)
		r = tar_tree_open(&packer->archives.tree, &tree, err);
	packer->scan.lister = (struct scan_lister){ tar_tree_directory, tar_tree_end, &packer->archives.tree };
	packer->scan.is_volume = NULL;
	return r;
}

/* Opens the source, temporary files and the list, which a dry run needs too. */
static int packer_open_source(struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;
	int r;

	r = packer_open_directory(packer, err);
	if (r == 0)
		r = packer_open_fetcher(packer, err);
	if (r == 0)
		r = packer_check_options(packer, err);
	if (r < 0)
		return r;
	if (options->dereference)
		r = beneath_open(options->dereference, &packer->directory.beneath, err);
	dirfd_cache_open(&packer->directory.dirs, packer->directory.fd,
			 options->dereference ? &packer->directory.beneath : NULL);
	if (r == 0)
		r = target_open_temp(packer->target, options, &packer->temp, err);
	if (r == 0 && options->from_list)
		r = from_list_open(packer->temp, options->from_list, &packer->directory.list, err);
	if (r < 0)
		return r;
	packer->scan = (struct scan_setup){
		.list = { &packer->directory.dirs, options->filter, packer->temp, PACK_LISTING_BUDGET },
		.refuse_special = options->refuse_special,
		.is_volume = packer_is_volume,
		.is_volume_argument = packer->target,
	};
	if (packer->directory.list)
		packer->scan.lister =
			(struct scan_lister){ from_list_directory, from_list_end, packer->directory.list };
	return packer->is_archive ? packer_open_archives(packer, err) : 0;
}

/* Opens the names of the index in a temporary file. */
static int packer_open_names(struct packer *packer, struct error *err)
{
	auto_close int fd = -1;
	int r = temp_file(packer->temp, &fd, err);

	if (r < 0)
		return r;
	r = names_writer_open(fd, &packer->names, err);
	return r == -ENOSPC ? temp_failed(packer->temp, r, err) : r;
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
	struct pipeline_work work = { ingest_work, ingest_new, ingest_free, &packer->ingest, packer->is_archive };

	packer->ingest = (struct ingest_setup){ options->chunk_log, packer->sums, options->level, packer_dedup(packer),
						packer_stat_cache(packer), &options->xattrs };
	descriptors_raise_limit(); /* a batch keeps some directories open */
	return pipeline_open(&work, packer_jobs(options), options->compress != PACK_RAW, &packer->pipeline, err);
}

/* Adds a version to dedup. If its index is damaged, warns and shares nothing more with it. */
static int packer_add_to_dedup(struct packer *packer, const struct version *version, struct error *err)
{
	struct previous_index previous = { 0 };
	struct error why = { 0 };
	struct packer_earlier *earlier = &packer->earlier;
	bool loaded = earlier->has_stat_cache && earlier->stat_cache.version == version;
	const char *what = "nothing";
	int r = 0;

	if (!loaded)
		r = previous_index_open(packer->temp, transaction_backing(packer->transaction), version, false,
					&previous, &why);
	if (r == 0) {
		what = "nothing more"; /* records before the bad one were added */
		r = dedup_add(&earlier->dedup, loaded ? &earlier->stat_cache.previous : &previous, &why);
	}
	previous_index_close(&previous);
	if (error_is_damage(r)) {
		log_warn("%s is shared with version '%s': %s, ignoring", what, version->label, why.reason);
		return 0;
	}
	return r < 0 ? error_pass(err, r, &why) : 0;
}

/* Adds the versions on the volume to dedup, the newest first. Content is found by its sums, so only by those of one
 * kind. */
static int packer_open_dedup(struct packer *packer, struct error *err)
{
	const struct catalogue *catalogue = &packer->transaction->catalogue;
	int r;

	if (packer->transaction->is_new || !catalogue->version_count)
		return 0;
	progress_phase(packer->progress, "earlier versions", 0);
	r = dedup_open(&packer->earlier.dedup, packer->temp, transaction_backing(packer->transaction),
		       packer->options->chunk_log, packer->sums, err);
	for (uint32_t i = catalogue->version_count; r == 0 && i-- > 0;)
		if (catalogue->versions[i].shape.chunk_sum == packer->sums)
			r = packer_add_to_dedup(packer, &catalogue->versions[i], err);
	if (r == 0)
		r = dedup_settle(&packer->earlier.dedup, err);
	packer->earlier.has_dedup = r == 0;
	return r;
}

/* Loads the block checksums of the trusted version, for files that are not read. */
static int packer_open_block_sums(struct packer *packer, const struct version *version, struct error *err)
{
	struct packer_earlier *earlier = &packer->earlier;
	struct error why = { 0 };
	int r = block_sums_load(transaction_backing(packer->transaction), version, &earlier->block_sums, &why);

	if (r == -ENOMEM)
		return error_pass(err, r, &why);
	if (r < 0)
		log_warn("unread files get no block checksums: %s, ignoring", why.reason);
	return earlier->block_sums ? block_sums_view_new(earlier->block_sums, transaction_source(packer->transaction),
							 &earlier->block_sums_view, err) : 0;
}

static int packer_open_stat_cache(struct packer *packer, struct error *err)
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
	if (!version) /* the volume has no current version yet */
		return 0;
	r = stat_cache_open(&packer->earlier.stat_cache, packer->temp, transaction_backing(packer->transaction),
			    version, options->chunk_log, packer->sums, &why);
	packer->earlier.has_stat_cache = r == 0;
	if (r == -ENOENT || error_is_damage(r))
		log_warn("every file is read: %s, ignoring", why.reason);
	else if (r < 0)
		return error_pass(err, r, &why);
	return packer->earlier.has_stat_cache ? packer_open_block_sums(packer, version, err) : 0;
}

/* Chooses the order of contents: without an option that of the newest version, so that a volume stays as it is. */
static void packer_choose_order(struct packer *packer)
{
	const struct catalogue *catalogue = &packer->transaction->catalogue;
	const struct pack_options *options = packer->options;
	const struct version *last;

	packer->is_random = options->order == PACK_RANDOM;
	packer->seed = options->seed;
	if (options->order != PACK_LAST || packer->transaction->is_new || !catalogue->version_count)
		return;
	last = &catalogue->versions[catalogue->version_count - 1];
	packer->is_random = last->feature_compat & DSFS_VERSION_COMPAT_PLACES;
	packer->seed = last->places_seed;
}

/* Chooses the kind of sums: without an option that of the newest version. */
static void packer_choose_sums(struct packer *packer)
{
	const struct catalogue *catalogue = &packer->transaction->catalogue;
	uint32_t last = DSFS_SUM_XXH3_64;

	if (!packer->transaction->is_new && catalogue->version_count)
		last = catalogue->versions[catalogue->version_count - 1].shape.chunk_sum;
	packer->sums = packer->options->sums ? packer->options->sums : sum_is_known(last) ? last : DSFS_SUM_XXH3_64;
}

static int packer_open_layout(struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;
	struct layout_setup setup = {
		.temp = packer->temp,
		.chunk_log = options->chunk_log,
		.sums = packer->sums,
		.writer = packer->writer,
		.allocator = &packer->transaction->allocator,
		.progress = packer->progress,
		.dedup = packer_dedup(packer),
		.stat_cache = packer_stat_cache(packer),
		.block_sums = packer->earlier.block_sums_view,
		.override = &options->override,
		.writes_stat_cache = !options->has_uuid && !packer->is_archive,
		.all_xattrs = xattrs_wants_all(&options->xattrs),
		.settled = time(NULL) - PACK_SETTLE,
		.is_random = packer->is_random,
		.seed = packer->seed,
	};

	packer->hints = calloc(1, sizeof(*packer->hints));
	if (!packer->hints)
		return error_no_memory(err);
	setup.hints = options->compress == PACK_AUTO ? packer->hints : NULL;
	return layout_open(&packer->layout, &setup, err);
}

static int packer_open(struct packer *packer, struct error *err)
{
	int r;

	packer_choose_order(packer);
	packer_choose_sums(packer);
	r = packer_open_source(packer, err);
	if (r == 0)
		r = progress_open(packer->options->progress, &packer->progress, err);
	if (r == 0)
		r = writer_open(transaction_source(packer->transaction), &packer->transaction->allocator,
				packer->temp, &packer->writer, err);
	if (r == 0)
		r = packer_open_stat_cache(packer, err);
	if (r == 0)
		r = packer_open_dedup(packer, err);
	if (r == 0)
		r = packer_open_layout(packer, err);
	if (r == 0)
		r = packer_open_pipeline(packer, err);
	if (r == 0)
		r = packer_open_names(packer, err);
	return r;
}

/* --- the run --- */

static void packer_scan(void *argument)
{
	struct packer *packer = argument;
	struct error why = { 0 };
	int r;

	if (packer->is_archive)
		r = loader_run(&packer->archives.loader, &why);
	else
		r = scan_run(&packer->scan, &packer->counts, &why);
	if (r == 0)
		feed_flush(packer->is_archive ? &packer->archives.loader.feed : &packer->batcher.feed);
	pipeline_end(packer->pipeline, r, &why);
}

static int packer_consume(struct packer *packer, struct error *err)
{
	struct batch *batch;
	int r;

	while ((r = pipeline_take(packer->pipeline, &batch, err)) > 0) {
		r = layout_add_batch(&packer->layout, batch, err);
		if (r < 0)
			return r;
		pipeline_give_back(packer->pipeline, batch);
	}
	return r;
}

/* Puts names and records into order once all content is stored, because archives give names in any order. */
static int packer_order(struct packer *packer, struct error *err)
{
	int r;

	if (!packer->is_archive)
		return 0;
	progress_phase(packer->progress, "names", 0);
	r = tar_tree_sort(&packer->archives.tree, err);
	if (r == 0)
		r = order_open(&packer->archives.order, &packer->layout, packer->names, packer->temp,
			       packer->options->chunk_log, err);
	packer->scan.sink = order_sink(&packer->archives.order);
	if (r == 0)
		r = scan_run(&packer->scan, &packer->counts, err);
	tar_tree_close(&packer->archives.tree);
	if (r == 0)
		r = order_finish(&packer->archives.order, err);
	order_close(&packer->archives.order);
	return r;
}

/* Refuses a source without entries unless --allow-empty is set: mostly its name is wrong, or it is not complete yet. */
static int packer_check_empty(const struct packer *packer, struct error *err)
{
	const struct pack_options *options = packer->options;

	if (packer->counts.entries || options->allow_empty)
		return 0;
	if (options->source_count == 1)
		return error_set(err, -ENODATA, "'%s' has nothing to pack: if the version is to be empty, use "
				 "--allow-empty", options->sources[0]);
	return error_set(err, -ENODATA, "the %u archives have nothing to pack: if the version is to be empty, use "
			 "--allow-empty", options->source_count);
}

/* Runs the scan, the readers and the layout in parallel, until the writer has the last chunk. */
static int packer_content(struct packer *packer, struct error *err)
{
	const struct thread_setup setup = { .run = packer_scan, .argument = packer };
	const struct feed feed = { packer->options, packer->pipeline, packer->hints, NULL };
	struct packer_archives *archives = &packer->archives;
	struct thread thread = { 0 };
	int r;

	progress_phase(packer->progress, "packing", 0);
	packer->batcher = (struct batcher){ .feed = feed,
					    .names = packer->names,
					    .stat_cache = packer_stat_cache(packer) };
	packer->scan.sink = batcher_sink(&packer->batcher);
	archives->loader = (struct loader){ .feed = feed, .stream = &archives->stream, .tree = &archives->tree };
	r = thread_start(&thread, 1, &setup, err);
	if (r < 0)
		return r;
	r = packer_consume(packer, err);
	if (r < 0) {
		pipeline_stop(packer->pipeline);
		tar_child_stop(&archives->child); /* the scan thread may still be waiting for it */
	}
	thread_join(&thread);
	pipeline_close(take_ptr(&packer->pipeline));
	layout_end(&packer->layout);
	if (r == 0)
		r = layout_place(&packer->layout, err);
	if (r == 0)
		r = packer_order(packer, err);
	return r < 0 ? r : packer_check_empty(packer, err);
}

/* Adds the table of places, with elements of 32 bits. */
static int packer_rank(struct packer *packer, struct error *err)
{
	struct version *version = &packer->version;

	if (!packer->is_random)
		return 0;
	if (packer->counts.inodes > UINT32_MAX)
		return error_set(err, -EFBIG, "%" PRIu64 " inodes, expected at most %" PRIu32
				 " in random order: use --order tree", packer->counts.inodes, UINT32_MAX);
	version->feature_compat |= DSFS_VERSION_COMPAT_PLACES;
	version->places_seed = packer->seed;
	version->shape.places_count = packer->layout.counts.files;
	return ranks_add(&packer->layout.records, packer->seed, packer->temp, &version->shape.places_at, err);
}

static void packer_fill_version(struct packer *packer)
{
	const struct layout_counts *counts = &packer->layout.counts;
	struct version *version = &packer->version;

	version->chunk_log = packer->options->chunk_log;
	version->shape.chunk_sum = packer->sums;
	version->feature_incompat = (packer->layout.records.has_frames ? DSFS_VERSION_INCOMPAT_ZSTD : 0) |
				    (packer->layout.holes.all ? DSFS_VERSION_INCOMPAT_HOLES : 0);
	version->shape.inode_count = packer->counts.inodes;
	version->shape.entry_count = packer->counts.entries;
	version->file_count = counts->files;
	version->directory_count = counts->directories;
	version->symlink_count = counts->symlinks;
	version->content_bytes = counts->content_bytes;
	version->stored_bytes = allocator_taken(&packer->transaction->allocator);
}

static int packer_index(struct packer *packer, struct error *err)
{
	const struct assemble assemble = { &packer->version, packer->writer, packer->temp, packer->progress };
	uint64_t end = transaction_end_of(packer->transaction, 0);
	auto_close int fd = -1;
	int r;

	allocator_settle(&packer->transaction->allocator);
	progress_phase(packer->progress, "index", 0);
	packer_fill_version(packer);
	r = records_add_meta(&packer->layout.records, &packer->options->meta, err);
	if (r == 0)
		r = packer_rank(packer, err);
	if (r < 0)
		return r;
	r = assemble_section(&assemble, &packer->layout.records, take_ptr(&packer->names), &fd, err);
	if (r == 0)
		r = assemble_stream(&assemble, fd, end, &packer->transaction->catalogue.members, err);
	if (r == 0)
		r = publish_uuid(packer->target, &packer->version, err);
	if (r == 0)
		r = assemble_stat_cache(&assemble, &packer->layout.stat_cache_writer, &packer->batcher.filesystem, err);
	if (r == 0)
		r = assemble_sums(&assemble, &packer->layout.records, err);
	return r;
}

/* Signs the index before anything refers to it. */
static int packer_sign(struct packer *packer, struct error *err)
{
	const uint8_t *volume = packer->transaction->super.volume_uuid;
	auto_free char *text = NULL;
	struct statement statement;
	size_t length;
	int r;

	if (!packer->options->sign)
		return 0;
	progress_phase(packer->progress, "signing", 0);
	r = statement_of(&packer->version, volume, &statement, err);
	if (r == 0)
		r = signing_make(packer->options->sign, &statement, &text, &length, err);
	return r < 0 ? r : signing_add(&packer->version, volume, span_of(text, length), err);
}

/* Returns the label of the newest version on the volume with the new one's digest, or "". */
static const char *packer_identical(const struct packer *packer)
{
	const struct catalogue *catalogue = &packer->transaction->catalogue;

	for (uint32_t i = catalogue->version_count; !packer->transaction->is_new && i-- > 0;)
		if (!memcmp(catalogue->versions[i].digest, packer->version.digest, sizeof(packer->version.digest)))
			return catalogue->versions[i].label;
	return "";
}

static void packer_result(const struct packer *packer, struct pack_result *ret)
{
	const struct version *version = &packer->version;

	*ret = (struct pack_result){
		.sequence = version->sequence,
		.current = !packer->options->no_current,
		.counts = packer->layout.counts,
		.special = packer->counts.special,
		.replaced = packer->archives.origin.replaced,
		.clamped = packer->layout.records.clamped_times,
		.doubt = packer->options->trust_mtime ? packer->batcher.doubt : STAT_CACHE_TRUSTED,
		.stored_bytes = version->stored_bytes,
		.existing_bytes = packer->layout.store.existing_bytes,
		.existing_raw_bytes = packer->layout.store.existing_raw_bytes,
		.index_bytes = version->index.length,
		.block_sums_bytes = version->block_sums.length,
		.unmirrored_bytes = packer->transaction->allocator.held_below,
	};
	memcpy(ret->source_type, packer->batcher.filesystem.type, sizeof(ret->source_type));
	memcpy(ret->label, version->label, sizeof(ret->label));
	snprintf(ret->identical, sizeof(ret->identical), "%s", packer_identical(packer));
	memcpy(ret->volume_uuid, packer->transaction->super.volume_uuid, sizeof(ret->volume_uuid));
	memcpy(ret->version_uuid, version->uuid, sizeof(ret->version_uuid));
	memcpy(ret->digest, version->digest, sizeof(ret->digest));
}

/* Warns about what other users than the publisher may miss on a mount. */
static void packer_warn(const struct packer *packer)
{
	const struct outward *outward = packer->is_archive ? &packer->archives.loader.outward : &packer->layout.outward;
	struct closed closed = { 0 };

	if (outward->count)
		log_warn("%" PRIu64 " symlinks lead out of the source, such as %s%s", outward->count, outward->example,
			 packer->is_archive ? "" : ": --dereference=DIR packs what they lead to");
	if (geteuid() == 0)
		closed = closed_count(&packer->layout.records);
	if (closed.root)
		log_warn("the top folder has mode %04o, so only its owner and group can enter a mount: "
			 "--mode a+rX opens it", closed.root);
	if (closed.count > closed.all / PACK_CLOSED_PART)
		log_warn("%" PRIu64 " of %" PRIu64 " files and folders are closed to other users: "
			 "--mode a+rX opens them", closed.count, closed.all);
}

static int packer_publish(struct packer *packer, struct pack_result *ret, struct error *err)
{
	int r;

	packer_warn(packer);
	r = packer_index(packer, err);
	if (r == 0)
		r = packer_sign(packer, err);
	if (r < 0)
		return r;
	packer_result(packer, ret);
	r = publish_run(packer->target, packer->writer, &packer->version, !packer->options->no_current,
			packer->progress, err);
	ret->written_bytes = allocator_taken(&packer->transaction->allocator);
	return r;
}

/* Frees the objects that only packing needed. */
static void packer_forget(void *argument)
{
	struct packer *packer = argument;

	pipeline_close(take_ptr(&packer->pipeline));
	dedup_close(&packer->earlier.dedup);
	stat_cache_close(&packer->earlier.stat_cache);
}

/* Publishes while a thread closes large temporary files, which takes a while. If no thread starts, packer_close() does
 * it. */
static int packer_publish_and_forget(struct packer *packer, struct pack_result *ret, struct error *err)
{
	const struct thread_setup setup = { .run = packer_forget, .argument = packer };
	struct thread thread = { 0 };
	bool forgetting = thread_start(&thread, 1, &setup, NULL) == 0;
	int r = packer_publish(packer, ret, err);

	if (forgetting)
		thread_join(&thread);
	return r;
}

/* Reads all names of the archives, without content, for a dry run. */
static int packer_list_archives(struct packer *packer, struct error *err)
{
	struct packer_archives *archives = &packer->archives;
	int r;

	archives->loader = (struct loader){ .stream = &archives->stream, .tree = &archives->tree };
	r = loader_run(&archives->loader, err);
	return r < 0 ? r : tar_tree_sort(&archives->tree, err);
}

/* Scans the source, without reading files. */
static int packer_estimate(struct packer *packer, struct pack_estimate *ret, struct error *err)
{
	struct estimate *estimate = NULL;
	int r = estimate_open(packer->options->chunk_log, packer->sums, packer->is_random, &estimate, err);

	if (r == 0 && packer->is_archive)
		r = packer_list_archives(packer, err);
	if (r == 0) {
		packer->scan.sink = estimate_sink(estimate);
		r = scan_run(&packer->scan, &packer->counts, err);
	}
	if (r == 0)
		r = estimate_end(estimate, &packer->counts, packer->target, ret, err);
	estimate_free(estimate);
	return r;
}

/* Returns whether all that the filesystem of the source holds would fit, so that nothing need be counted. */
static bool packer_fits_easily(const struct packer *packer)
{
	uint64_t used, available;
	struct statvfs fs;

	if (packer->options->dereference || fstatvfs(packer->directory.fd, &fs) < 0 ||
	    estimate_free_bytes(packer->target, &available, NULL) < 0)
		return false;
	used = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
	return used + used / PACK_OVERHEAD_PART + PACK_OVERHEAD <= available;
}

/* Refuses content that has no room, unless compression or an older version may make it smaller. */
static int packer_judge_room(const struct packer *packer, const struct pack_estimate *estimate, struct error *err)
{
	char content[SIZE_TEXT_SIZE], available[SIZE_TEXT_SIZE];
	const struct pack_options *options = packer->options;

	if (estimate->versions || options->compress != PACK_RAW || estimate->least_bytes <= estimate->free_bytes)
		return 0;
	return error_set(err, -ENOSPC, "volume '%s' is too small: %s are free, and '%s' has %s; --exclude leaves some "
			 "out, --compress may make it smaller", options->volume,
			 format_size(estimate->free_bytes, available), options->sources[0],
			 format_size(estimate->least_bytes, content));
}

/* Checks before the first write whether a directory fits, as a dry run does. */
static int packer_check_room(struct packer *packer, struct error *err)
{
	struct pack_estimate estimate;
	int r;

	if (packer->is_archive || packer_fits_easily(packer))
		return 0;
	progress_phase(packer->progress, "counting", 0);
	packer->scan.is_first = true;
	r = packer_estimate(packer, &estimate, err);
	packer->scan.is_first = false;
	packer->counts = (struct scan_counts){ 0 };
	if (r == 0 && packer->directory.list)
		r = from_list_rewind(packer->directory.list, err);
	packer->transaction->allocator.wanted = r == 0 ? estimate.image_bytes : 0;
	return r < 0 ? r : packer_judge_room(packer, &estimate, err);
}

/* Passes on a failure; one at a file that may not be read becomes a list of all of them. */
static int packer_explain(const struct packer *packer, int r, struct error *err)
{
	if (r != -EACCES || packer->is_archive || packer->directory.list)
		return r;
	return unreadable_explain(&packer->scan, packer->options->sources[0], err);
}

static int packer_run(struct packer *packer, struct pack_result *ret, struct error *err)
{
	int r;

	r = publish_name(packer->target, packer->options, &packer->version, err);
	if (r == 0)
		r = packer_open(packer, err);
	if (r == 0)
		r = packer_explain(packer, packer_check_room(packer, err), err);
	if (r == 0)
		r = target_begin(packer->target, err);
	if (r == 0)
		r = packer_explain(packer, packer_content(packer, err), err);
	return r < 0 ? r : packer_publish_and_forget(packer, ret, err);
}

int pack_run(const struct pack_options *options, struct target *target, struct pack_result *ret, struct error *err)
{
	struct packer *packer = calloc(1, sizeof(*packer));
	int64_t start = clock_now();
	struct pack_result result = { 0 };
	int r;

	if (!packer)
		return error_no_memory(err);
	packer->options = options;
	packer->target = target;
	packer->transaction = &target->transaction;
	packer->directory.fd = -1;
	packer->archives.fetcher = FETCHER_NONE;
	r = packer_run(packer, &result, err);
	packer_close(packer);
	free(packer);
	if (r < 0)
		return r;
	if (result.clamped)
		log_warn("%" PRIu64 " modification times are outside 1901 to 2446 and were clamped, ignoring",
			 result.clamped);
	for (uint32_t i = 0; i < target->transaction.member_count; i++)
		result.volume_bytes += target->transaction.members[i].super.member_size;
	result.seconds = (double)(clock_now() - start) / 1e9;
	*ret = result;
	return 0;
}

int pack_dry_run(const struct pack_options *options, struct target *target, struct pack_estimate *ret,
		 struct tar_replaced *ret_replaced, struct error *err)
{
	struct packer packer = {
		.options = options, .target = target, .transaction = &target->transaction, .directory.fd = -1,
		.archives.fetcher = FETCHER_NONE
	};
	int r;

	packer_choose_order(&packer);
	packer_choose_sums(&packer);
	r = publish_check_label(target, options->label, err);
	if (r == 0)
		r = packer_open_source(&packer, err);
	if (r == 0)
		r = packer_explain(&packer, packer_estimate(&packer, ret, err), err);
	if (r == 0)
		r = packer_check_empty(&packer, err);
	if (r == 0)
		*ret_replaced = packer.archives.origin.replaced;
	packer_close(&packer);
	return r;
}
