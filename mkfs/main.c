/* SPDX-License-Identifier: MIT */
/* mkdatasetfs: parses the command line and runs the publish. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/interrupt.h"
#include "base/program/options.h"
#include "base/program/output.h"
#include "base/program/signal.h"
#include "base/text/parse.h"
#include "image/codec.h"
#include "image/sums/sum.h"
#include "options/meta_option.h"
#include "output/target.h"
#include "pack.h"
#include "source/archive/tar_charset.h"
#include "source/remote/bucket.h"
#include "source/remote/fetcher.h"
#include "source/remote/prefix.h"
#include "summary.h"
#include "volume/transaction/degraded.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define JOBS_MAX  1024
#define STRIP_MAX 1000
#define RETRIES_MAX 1000
#define TIMEOUT_MAX 86400 /* seconds */

static int set_compress(void *target, const char *argument, struct error *err)
{
	struct pack_options *options = target;
	uint64_t level = CODEC_LEVEL_DEFAULT;
	int r = 0;

	if (!strcmp(argument, "none"))
		options->compress = PACK_RAW;
	else if (!strcmp(argument, "auto"))
		options->compress = PACK_AUTO;
	else if (!strncmp(argument, "zstd", 4) && (!argument[4] || argument[4] == ':'))
		options->compress = PACK_ZSTD;
	else
		return error_set(err, -EINVAL, "'%s' is not none, zstd, zstd:LEVEL or auto", argument);
	if (options->compress == PACK_ZSTD && argument[4])
		r = parse_u64(argument + 5, CODEC_LEVEL_MIN, CODEC_LEVEL_MAX, &level, err);
	options->level = (int)level;
	return r;
}

static int set_meta(void *target, const char *argument, struct error *err)
{
	return meta_option_add(&((struct pack_options *)target)->meta, argument, err);
}

static int set_trust_mtime(void *target, const char *argument, struct error *err)
{
	struct pack_options *options = target;

	options->trust_mtime = true;
	options->trusted = argument;
	return argument ? version_check_label(argument, err) : 0;
}

static int set_include(void *target, const char *argument, struct error *err)
{
	return filter_add(((struct pack_options *)target)->filter, true, argument, err);
}

static int set_exclude(void *target, const char *argument, struct error *err)
{
	return filter_add(((struct pack_options *)target)->filter, false, argument, err);
}

static int set_filter_from(void *target, const char *argument, struct error *err)
{
	return filter_add_file(((struct pack_options *)target)->filter, argument, err);
}

static int set_all_root(void *target, const char *argument, struct error *err)
{
	struct override *override = &((struct pack_options *)target)->override;
	int r = override_set_owner(override, "0", err);

	(void)argument;
	return r < 0 ? r : override_set_group(override, "0", err);
}

static int set_owner(void *target, const char *argument, struct error *err)
{
	return override_set_owner(&((struct pack_options *)target)->override, argument, err);
}

static int set_group(void *target, const char *argument, struct error *err)
{
	return override_set_group(&((struct pack_options *)target)->override, argument, err);
}

static int set_mode(void *target, const char *argument, struct error *err)
{
	return mode_parse(&((struct pack_options *)target)->override.modes, argument, err);
}

static int set_xattrs_include(void *target, const char *argument, struct error *err)
{
	return xattrs_add_pattern(&((struct pack_options *)target)->xattrs.include, argument, err);
}

static int set_xattrs_exclude(void *target, const char *argument, struct error *err)
{
	return xattrs_add_pattern(&((struct pack_options *)target)->xattrs.exclude, argument, err);
}

static int set_uuid(void *target, const char *argument, struct error *err)
{
	struct pack_options *options = target;

	options->has_uuid = true;
	return parse_uuid(argument, options->uuid, err);
}

static int set_protect(void *target, const char *argument, struct error *err)
{
	struct pack_options *options = target;

	if (!strcmp(argument, "none"))
		options->copies = 1;
	else if (!strcmp(argument, "mirror:2"))
		options->copies = 2;
	else if (!strcmp(argument, "mirror:3"))
		options->copies = 3;
	else
		return error_set(err, -EINVAL, "'%s' is not none, mirror:2 or mirror:3", argument);
	return 0;
}

static int set_order(void *target, const char *argument, struct error *err)
{
	struct pack_options *options = target;

	options->order = strcmp(argument, "tree") ? PACK_RANDOM : PACK_TREE;
	options->seed = 0;
	if (!strncmp(argument, "random:", 7))
		return parse_u64(argument + 7, 0, UINT64_MAX, &options->seed, err);
	if (options->order == PACK_RANDOM && strcmp(argument, "random") != 0)
		return error_set(err, -EINVAL, "'%s' is not tree, random or random:SEED", argument);
	return 0;
}

static int set_sums(void *target, const char *argument, struct error *err)
{
	return sum_find(argument, &((struct pack_options *)target)->sums, err);
}

static int set_degraded(void *target, const char *argument, struct error *err)
{
	enum degraded degraded = DEGRADED_NOT;
	int r = degraded_parse(argument, &degraded, err);

	((struct pack_options *)target)->degraded = degraded;
	return r;
}

#define PACK_TRUE(FIELD)          OPTION_TRUE(struct pack_options, FIELD)
#define PACK_TEXT(FIELD, CHECK)   OPTION_TEXT(struct pack_options, FIELD, CHECK)
#define PACK_WORD(FIELD, ...)     OPTION_WORD(struct pack_options, FIELD, __VA_ARGS__)
#define PACK_LOG(FIELD, MIN, MAX) OPTION_LOG(struct pack_options, FIELD, MIN, MAX)

static const struct option_spec options_table[] = {
	{ "label", 0, "L", PACK_TEXT(label, version_check_label), "name the version (default v1, v2, ...)" },
	{ "meta", 0, "KEY=VALUE", OPTION_CALL(set_meta), "say this about the version, such as licence=MIT" },
	{ "force", 0, NULL, PACK_TRUE(force), "replace another filesystem or other content" },
	{ "format", 0, NULL, PACK_TRUE(format), "start the volume afresh, without its versions" },
	{ "no-current", 0, NULL, PACK_TRUE(no_current), "do not make the version the current one" },
	{ "sign", 0, "KEY", PACK_TEXT(sign, NULL), "sign the version, as 'datasetfsctl sign --key' does" },
	{ "compress", 0, "KIND", OPTION_CALL(set_compress), "none (default), zstd, zstd:LEVEL or auto" },
	{ "order", 0, "ORDER", OPTION_CALL(set_order), "tree, random or random:SEED (default as last time)" },
	{ "sums", 0, "KIND", OPTION_CALL(set_sums), "xxh3-64 or sha256 (default as last time)" },
	{ "chunk-size", 0, "SIZE", PACK_LOG(chunk_log, DSFS_CHUNK_LOG_MIN, DSFS_CHUNK_LOG_MAX),
	  "limit chunks to SIZE, 4K to 1M (default 128K)" },
	{ "segment-size", 0, "SIZE", PACK_LOG(segment_log, DSFS_SEGMENT_LOG_MIN, DSFS_SEGMENT_LOG_MAX),
	  "set the segment size of a new volume (default 16M)" },
	{ "uuid", 0, "UUID", OPTION_CALL(set_uuid), "set the UUID of a new volume (default random)" },
	{ "protect", 0, "KIND", OPTION_CALL(set_protect),
	  "none, mirror:2 or mirror:3 (default as last time)" },
	{ "degraded", 0, "[=half]", OPTION_CALL(set_degraded),
	  "publish without missing members, =half: without half" },
	{ "jobs", 'j', "N", OPTION_NUMBER(struct pack_options, jobs, 1, JOBS_MAX),
	  "run N threads (default one for each CPU)" },
	{ "include", 0, "PATTERN", OPTION_CALL(set_include), "pack what matches; the first matching rule wins" },
	{ "exclude", 0, "PATTERN", OPTION_CALL(set_exclude), "skip what matches" },
	{ "filter-from", 0, "FILE", OPTION_CALL(set_filter_from),
	  "read rules from FILE: '+ PATTERN', '- PATTERN'" },
	{ "from-list", 0, "FILE", PACK_TEXT(from_list, NULL), "pack only the paths in FILE ('-': standard input)" },
	{ "dereference", 0, "DIR", PACK_TEXT(dereference, NULL), "pack what symlinks lead to, if it is below DIR" },
	{ "all-root", 0, NULL, OPTION_CALL(set_all_root), "let everything belong to user 0 and group 0" },
	{ "owner", 0, "USER", OPTION_CALL(set_owner), "let everything belong to USER, a name or number" },
	{ "group", 0, "GROUP", OPTION_CALL(set_group), "let everything belong to GROUP" },
	{ "mode", 0, "CHANGES", OPTION_CALL(set_mode), "change all modes as chmod does, such as a+rX" },
	{ "no-xattrs", 0, NULL, PACK_TRUE(xattrs.none), "leave out extended attributes" },
	{ "xattrs-include", 0, "PATTERN", OPTION_CALL(set_xattrs_include), "keep only attributes whose names match" },
	{ "xattrs-exclude", 0, "PATTERN", OPTION_CALL(set_xattrs_exclude), "leave out attributes whose names match" },
	{ "nested", 0, NULL, PACK_TRUE(nested), "unpack archives inside archives into folders" },
	{ "into-folders", 0, NULL, PACK_TRUE(into_folders), "pack each archive into a folder of its name" },
	{ "on-duplicate", 0, "ACTION", PACK_WORD(duplicates, "auto", "last", "error"),
	  "auto (default: error between archives), last, error" },
	{ "require-end", 0, NULL, PACK_TRUE(require_end), "refuse a tar archive that lacks the mark of its end" },
	{ "zip-charset", 0, "NAME", PACK_TEXT(zip_charset, tar_charset_check),
	  "convert zip names from NAME, or none (default cp437)" },
	{ "strip-components", 0, "N", OPTION_NUMBER(struct pack_options, strip, 0, STRIP_MAX),
	  "take N components off names in an archive" },
	{ "ca-file", 0, "FILE", PACK_TEXT(ca_file, NULL), "of URLs: trust certificates signed by FILE's" },
	{ "endpoint", 0, "URL", PACK_TEXT(endpoint, bucket_check_endpoint),
	  "of s3://: where the store is (default AWS)" },
	{ "region", 0, "NAME", PACK_TEXT(region, bucket_check_region), "of s3://: region of the bucket" },
	{ "requests", 0, "N", OPTION_NUMBER(struct pack_options, requests, 1, PREFIX_REQUESTS),
	  "of s3://: fetch N objects at a time (default 32)" },
	{ "retries", 0, "N", OPTION_NUMBER(struct pack_options, retries, 0, RETRIES_MAX),
	  "of URLs: repeat requests N times (default 10)" },
	{ "timeout", 0, "SECONDS", OPTION_NUMBER(struct pack_options, timeout, 1, TIMEOUT_MAX),
	  "and those without a byte so long (default 60)" },
	{ "trust-mtime", 0, "[=LABEL]", OPTION_CALL(set_trust_mtime),
	  "skip reading files unchanged since version LABEL" },
	{ "write-protect", 0, NULL, PACK_TRUE(write_protect), "NVMe: keep it write-protected between publishes" },
	{ "preempt", 0, NULL, PACK_TRUE(preempt), "NVMe: take the reservation of a lost publisher" },
	{ "special", 0, "ACTION", PACK_WORD(refuse_special, "skip", "fail"),
	  "skip (default) or fail on devices, sockets, FIFOs" },
	{ "allow-empty", 0, NULL, PACK_TRUE(allow_empty), "publish even if there is nothing to pack" },
	{ "temp-dir", 0, "DIR", PACK_TEXT(temp_dir, NULL), "put temporary files into DIR" },
	{ "dry-run", 'n', NULL, PACK_TRUE(dry_run), "count and estimate, write nothing" },
	{ "progress", 0, "KIND", PACK_WORD(progress, "auto", "bar", "plain", "json", "none"),
	  "auto (default), bar, plain, json or none" },
	{ "json", 0, NULL, PACK_TRUE(json), "print the summary as one JSON object" },
	{ 0 },
};

static const struct command_line command = {
	.program = "mkdatasetfs",
	.usage = "[OPTIONS] VOLUME[,...] SOURCE...",
	.summary = "Pack SOURCE, a directory or archives, tar or zip (files, URLs, or '-'), and\n"
		   "publish it on VOLUME, a file or block device, or several of them as one volume.",
	.options = options_table,
};

static int main_usage(const char *reason)
{
	log_err("%s", reason);
	return EXIT_USAGE;
}

static int main_failed(const char *reason)
{
	log_err("%s", reason);
	return EXIT_FAILED;
}

static int main_estimate(const struct pack_options *options, struct target *target)
{
	struct pack_estimate estimate;
	struct tar_replaced replaced;
	struct error err = { 0 };

	if (pack_dry_run(options, target, &estimate, &replaced, &err) < 0)
		return main_failed(err.reason);
	summary_print_estimate(options, &estimate, &replaced);
	return EXIT_DONE;
}

static int main_publish(const struct pack_options *options, struct target *target)
{
	struct pack_result result;
	struct error err = { 0 };

	if (pack_run(options, target, &result, &err) < 0)
		return main_failed(err.reason);
	summary_print(options, &result);
	if (options->write_protect && target_protect(target, &err) < 0)
		return main_failed(err.reason);
	if (output_flush(&err) < 0) {
		log_error(&err, "the version is published, but its summary is not complete");
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

static int main_pack(struct pack_options *options)
{
	struct target target;
	struct error err = { 0 };
	int status;

	interrupt_install();
	if (target_open(options, &target, &err) < 0)
		return main_failed(err.reason);
	status = options->dry_run ? main_estimate(options, &target) : main_publish(options, &target);
	target_close(&target);
	return status;
}

/* Checks that options of URLs come with one. */
static int main_check_urls(const struct pack_options *options, struct error *err)
{
	const char *set = options->ca_file ? "--ca-file" : options->endpoint ? "--endpoint" :
			  options->region ? "--region" : options->requests != PACK_UNSET ? "--requests" :
			  options->retries != PACK_UNSET ? "--retries" :
			  options->timeout != PACK_UNSET ? "--timeout" : NULL;

	for (unsigned i = 0; set && i < options->source_count; i++)
		if (fetcher_fetches(options->sources[i]))
			set = NULL;
	return set ? error_set(err, -EINVAL, "option '%s' is for sources that begin with https://, http:// or s3://, "
			       "and none does", set) : 0;
}

int main(int argc, char **argv)
{
	struct pack_options options;
	struct error err = { 0 };
	int operands, status;
	bool done;

	descriptors_reserve();
	signal_ignore_size_limit();
	log_set_program("mkdatasetfs");
	pack_options_init(&options);
	options.filter = filter_new();
	if (!options.filter)
		return main_failed("out of memory");
	operands = options_parse(&command, argc, argv, &options, &done, &err);
	if (operands < 0) {
		status = main_usage(err.reason);
	} else if (done) {
		status = EXIT_DONE;
	} else if (operands < 2) {
		status = main_usage("expected VOLUME and SOURCE, see 'mkdatasetfs --help'");
	} else {
		options.volume = argv[1];
		options.sources = argv + 2;
		options.source_count = (unsigned)operands - 1;
		status = main_check_urls(&options, &err) < 0 ? main_usage(err.reason) : main_pack(&options);
	}
	pack_options_free(&options);
	if (status == EXIT_DONE && output_flush(&err) < 0)
		status = main_failed(err.reason);
	return status;
}
