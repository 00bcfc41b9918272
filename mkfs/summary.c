/* SPDX-License-Identifier: MIT */
/* Prints summaries, for people and as one JSON object. */
#include "summary.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text/format.h"
#include "base/text/json.h"
#include "base/text/shown.h"

/* Returns whether a ratio says anything: with content that older versions store it would say how little is new, not
 * how much compression saves. */
static bool summary_has_ratio(const struct pack_result *result)
{
	return result->existing_bytes == 0;
}

/* Returns the bytes of content for each byte stored; 0 if nothing was stored. */
static double summary_ratio(const struct pack_result *result)
{
	uint64_t stored = result->stored_bytes + result->index_bytes;

	return stored ? (double)result->counts.content_bytes / (double)stored : 0;
}

static double summary_rate(const struct pack_result *result)
{
	return result->seconds > 0 ? (double)result->counts.content_bytes / 1e6 / result->seconds : 0;
}

static void summary_replaced_json(struct json *json, const struct tar_replaced *replaced)
{
	json_number(json, "replaced", replaced->count);
	if (replaced->count)
		json_string(json, "replaced_example", replaced->path);
	else
		json_null(json, "replaced_example");
}

static void summary_print_replaced(const struct tar_replaced *replaced)
{
	if (replaced->count == 0)
		return;
	printf("  %" PRIu64 " entr%s replaced by later ones of the same name, ", replaced->count,
	       replaced->count == 1 ? "y" : "ies");
	shown_print(stdout, "such as '%s' of '%s', then of '%s'\n", replaced->path, replaced->former,
		    replaced->later);
}

static void summary_json_content(struct json *json, const struct pack_result *result)
{
	json_number(json, "files", result->counts.files);
	json_number(json, "directories", result->counts.directories);
	json_number(json, "symlinks", result->counts.symlinks);
	json_number(json, "hard_links", result->counts.links);
	json_number(json, "special_left_out", result->special);
	summary_replaced_json(json, &result->replaced);
	json_number(json, "times_clamped", result->clamped);
	json_number(json, "content_bytes", result->counts.content_bytes);
	json_number(json, "stored_bytes", result->stored_bytes);
	json_number(json, "shared_bytes", result->counts.shared_bytes);
	json_number(json, "shared_uncompressed_bytes", result->existing_raw_bytes);
	json_number(json, "hole_bytes", result->counts.hole_bytes);
	json_number(json, "read_bytes", result->counts.read_bytes);
	json_number(json, "written_bytes", result->written_bytes);
	json_number(json, "unchanged_files", result->counts.unchanged);
	if (result->doubt == STAT_CACHE_TRUSTED)
		json_null(json, "not_trusted");
	else
		json_string(json, "not_trusted",
			    result->doubt == STAT_CACHE_OTHER ? "other filesystem" : "no change times");
}

static void summary_print_json(const struct pack_options *options, const struct pack_result *result)
{
	char uuid[UUID_TEXT_SIZE], digest[DIGEST_TEXT_SIZE];
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "volume", options->volume);
	format_uuid(result->volume_uuid, uuid);
	json_string(&json, "volume_uuid", uuid);
	json_string(&json, "label", result->label);
	json_number(&json, "sequence", result->sequence);
	format_uuid(result->version_uuid, uuid);
	json_string(&json, "uuid", uuid);
	format_digest(result->digest, digest);
	json_string(&json, "digest", digest);
	json_bool(&json, "current", result->current);
	if (*result->identical)
		json_string(&json, "identical_to", result->identical);
	else
		json_null(&json, "identical_to");
	summary_json_content(&json, result);
	json_number(&json, "index_bytes", result->index_bytes);
	json_number(&json, "block_checksum_bytes", result->block_sums_bytes);
	json_number(&json, "unmirrored_bytes", result->unmirrored_bytes);
	json_number(&json, "volume_bytes", result->volume_bytes);
	if (summary_has_ratio(result))
		json_real(&json, "ratio", summary_ratio(result));
	else
		json_null(&json, "ratio");
	json_real(&json, "seconds", result->seconds);
	json_real(&json, "megabytes_per_second", summary_rate(result));
	json_end_object(&json);
	putchar('\n');
}

static void summary_print_entries(uint64_t files, uint64_t directories, uint64_t symlinks, uint64_t hard_links)
{
	printf("  %" PRIu64 " file%s, %" PRIu64 " director%s, %" PRIu64 " symlink%s, %" PRIu64 " hard link%s\n", files,
	       format_plural(files), directories, directories == 1 ? "y" : "ies", symlinks, format_plural(symlinks),
	       hard_links, format_plural(hard_links));
}

static void summary_print_special(uint64_t count, const char *what)
{
	if (count == 1)
		shown_print(stdout, "  1 device, socket or FIFO %s\n", what);
	else if (count)
		shown_print(stdout, "  %" PRIu64 " devices, sockets and FIFOs %s\n", count, what);
}

/* Returns whether no content lies outside the index. */
static bool summary_is_in_index(const struct pack_result *result)
{
	return !result->stored_bytes && !result->existing_bytes && !result->counts.hole_bytes;
}

static void summary_print_storage(const struct pack_options *options, const struct pack_result *result)
{
	char content[SIZE_TEXT_SIZE], stored[SIZE_TEXT_SIZE], index[SIZE_TEXT_SIZE], shared[SIZE_TEXT_SIZE];

	if (summary_is_in_index(result)) {
		printf("  %s in %" PRIu64 " file%s, all in the index of %s\n",
		       format_size(result->counts.content_bytes, content), result->counts.files,
		       format_plural(result->counts.files), format_size(result->index_bytes, index));
		return;
	}
	printf("  content %s, stored %s, shared %s, index %s", format_size(result->counts.content_bytes, content),
	       format_size(result->stored_bytes, stored), format_size(result->counts.shared_bytes, shared),
	       format_size(result->index_bytes, index));
	if (summary_has_ratio(result))
		printf(", ratio %.2f", summary_ratio(result));
	putchar('\n');
	if (options->compress != PACK_RAW && result->existing_raw_bytes)
		printf("  %s shared with older versions, which store it uncompressed: "
		       "it stays so; a new volume compresses it\n",
		       format_size(result->existing_raw_bytes, shared));
}

/* Says why --trust-mtime trusted nothing. */
static void summary_print_doubt(const struct pack_result *result)
{
	if (result->doubt == STAT_CACHE_OTHER)
		printf("  the source is on another filesystem than last time: all files were read\n");
	else if (result->doubt == STAT_CACHE_NO_CTIMES)
		shown_print(stdout, "  the source is on a filesystem that keeps no change times (%s): all files were "
			    "read\n", *result->source_type ? result->source_type : "unknown");
}

void summary_print(const struct pack_options *options, const struct pack_result *result)
{
	char content[SIZE_TEXT_SIZE], stored[SIZE_TEXT_SIZE], shared[SIZE_TEXT_SIZE];
	char digest[DIGEST_TEXT_SIZE], block_sums[SIZE_TEXT_SIZE];

	if (options->json) {
		summary_print_json(options, result);
		return;
	}
	format_digest(result->digest, digest);
	shown_print(stdout, "version '%s' on '%s'%s\n", result->label, options->volume,
		    result->current ? ", now current" : "");
	if (*result->identical)
		shown_print(stdout, "  identical to '%s': nothing changed\n", result->identical);
	summary_print_entries(result->counts.files, result->counts.directories, result->counts.symlinks,
			      result->counts.links);
	summary_print_special(result->special, "left out");
	summary_print_replaced(&result->replaced);
	summary_print_storage(options, result);
	if (result->block_sums_bytes)
		printf("  block checksums %s\n", format_size(result->block_sums_bytes, block_sums));
	if (result->unmirrored_bytes)
		printf("  %s of it shared with versions that have fewer copies, and no better protected than those\n",
		       format_size(result->unmirrored_bytes, shared));
	printf("  read %s, written %s", format_size(result->counts.read_bytes, content),
	       format_size(result->written_bytes, stored));
	if (result->counts.unchanged)
		printf(", %" PRIu64 " file%s not opened", result->counts.unchanged,
		       format_plural(result->counts.unchanged));
	putchar('\n');
	summary_print_doubt(result);
	printf("  %.1f s", result->seconds);
	if (summary_rate(result) >= 1)
		printf(", %.0f MB/s", summary_rate(result));
	putchar('\n');
	printf("  digest %s\n", digest);
}

static void summary_print_estimate_json(const struct pack_options *options, const struct pack_estimate *estimate,
					const struct tar_replaced *replaced)
{
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "volume", options->volume);
	json_bool(&json, "dry_run", true);
	json_number(&json, "files", estimate->files);
	json_number(&json, "directories", estimate->directories);
	json_number(&json, "symlinks", estimate->symlinks);
	json_number(&json, "hard_links", estimate->hard_links);
	json_number(&json, "special_left_out", estimate->special);
	summary_replaced_json(&json, replaced);
	json_number(&json, "content_bytes", estimate->content_bytes);
	json_number(&json, "index_bytes", estimate->index_bytes);
	json_number(&json, "block_checksum_bytes", estimate->block_sums_bytes);
	json_number(&json, "temporary_bytes", estimate->temporary_bytes);
	json_number(&json, "image_bytes", estimate->image_bytes);
	json_number(&json, "free_bytes", estimate->free_bytes);
	json_number(&json, "versions", estimate->versions);
	json_null(&json, "shared_bytes"); /* nothing was read */
	json_bool(&json, "fits", estimate->fits);
	json_end_object(&json);
	putchar('\n');
}

void summary_print_estimate(const struct pack_options *options, const struct pack_estimate *estimate,
			    const struct tar_replaced *replaced)
{
	char content[SIZE_TEXT_SIZE], index[SIZE_TEXT_SIZE], temporary[SIZE_TEXT_SIZE], image[SIZE_TEXT_SIZE];
	char available[SIZE_TEXT_SIZE];

	if (options->json) {
		summary_print_estimate_json(options, estimate, replaced);
		return;
	}
	shown_print(stdout, "dry run: nothing was written to '%s'\n", options->volume);
	summary_print_entries(estimate->files, estimate->directories, estimate->symlinks, estimate->hard_links);
	summary_print_special(estimate->special, "would be left out");
	summary_print_replaced(replaced);
	printf("  content %s\n", format_size(estimate->content_bytes, content));
	printf("  index %s, temporary files %s, image %s at most\n", format_size(estimate->index_bytes, index),
	       format_size(estimate->temporary_bytes, temporary), format_size(estimate->image_bytes, image));
	if (estimate->versions)
		printf("  content of the %" PRIu32 " version%s there would be shared; only reading shows how much\n",
		       estimate->versions, format_plural(estimate->versions));
	printf("  free %s, fits: %s\n", format_size(estimate->free_bytes, available), estimate->fits ? "yes" : "no");
}
