/* SPDX-License-Identifier: MIT */
/* datasetfsctl list: shows the versions on a volume, its space, and who is publishing. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "base/text/shown.h"
#include "grid.h"
#include "image/members/address.h"
#include "image/members/publisher.h"
#include "image/sums/sum.h"
#include "list/metas.h"
#include "list/own.h"
#include "list/signed.h"
#include "list/space.h"
#include "text.h"
#include "verb.h"
#include "volume.h"

#define DIGEST_PROVES "A digest proves names, sizes and attributes, and contents if the sums are sha256."

struct list_publisher {
	bool is_there;
	char host[257];
	uint64_t process, since;
	enum file_use use;
};

struct list_options {
	struct verb_options common;
	bool space, verbose;
	const struct version *only; /* NULL: all versions */
	struct metas_one *metas;    /* with --verbose: of each version */
};

static const struct option_spec list_table[] = {
	{ "space", 0, NULL, OPTION_TRUE(struct list_options, space),
	  "show which versions pin which segments, and what compact would free" },
	{ "verbose", 0, NULL, OPTION_TRUE(struct list_options, verbose),
	  "show the metadata of versions, for which their indexes are read" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line list_line = {
	.program = "datasetfsctl list",
	.usage = "VOLUME|MNT [LABEL]",
	.operands = { 1, 2 },
	.summary = "Show versions, space, and who is publishing.\n"
		   "'*' marks the current version.\n" DIGEST_PROVES,
	.options = list_table,
};

/* --- JSON --- */

static void list_json_hex(struct json *json, const char *key, const uint8_t *bytes, size_t size)
{
	char text[2 * 32 + 1];

	format_hex(bytes, size, text);
	json_string(json, key, text);
}

/* Prints the digest in the form that pins a mount. */
static void list_json_digest(struct json *json, const struct version *v)
{
	char text[DIGEST_TEXT_SIZE];

	format_digest(v->digest, text);
	json_string(json, "digest", text);
}

static void list_json_uuid(struct json *json, const char *key, const uint8_t uuid[16])
{
	char text[UUID_TEXT_SIZE];

	format_uuid(uuid, text);
	json_string(json, key, text);
}

static void list_json_extents(struct json *json, const char *key, const struct extent_list *list)
{
	json_begin_array(json, key);
	for (uint32_t i = 0; i < list->count; i++) {
		json_begin_object(json, NULL);
		json_number(json, "member", address_member(list->items[i].address));
		json_number(json, "offset", address_offset(list->items[i].address));
		json_number(json, "length", list->items[i].length);
		json_end_object(json);
	}
	json_end_array(json);
}

/* Returns the share of the bytes in a version's groups that has copies, in per cent; at least 1 if any byte has one. */
static unsigned list_protection(const struct list_share *share)
{
	unsigned percent = share->filled ? (unsigned)((double)share->filled_mirrored * 100 / (double)share->filled) : 0;

	return share->filled_mirrored && !percent ? 1 : percent;
}

static void list_json_version(struct json *json, const struct list_options *options,
			      const struct catalogue *catalogue, const struct version *v,
			      const struct list_space *space)
{
	const struct list_share *share = &space->shares[v - catalogue->versions];

	json_begin_object(json, NULL);
	json_string(json, "label", v->label);
	json_number(json, "sequence", v->sequence);
	json_bool(json, "current", v->sequence == catalogue->current);
	list_json_uuid(json, "uuid", v->uuid);
	list_json_digest(json, v);
	list_json_hex(json, "index_sha256", v->index.sha256, sizeof(v->index.sha256));
	json_number(json, "created", v->created);
	json_number(json, "feature_incompat", v->feature_incompat);
	json_number(json, "chunk_size", UINT64_C(1) << v->chunk_log);
	json_string(json, "sums", sum_name(v->shape.chunk_sum));
	json_number(json, "files", v->file_count);
	json_number(json, "directories", v->directory_count);
	json_number(json, "symlinks", v->symlink_count);
	json_number(json, "entries", v->shape.entry_count);
	json_number(json, "inodes", v->shape.inode_count);
	json_number(json, "chunks", v->shape.chunk_count);
	json_number(json, "content_bytes", v->content_bytes);
	json_number(json, "stored_bytes", v->stored_bytes);
	json_number(json, "mirrored_bytes", share->mirrored);
	if (catalogue->members.count)
		json_number(json, "protected_percent", list_protection(share));
	json_number(json, "unique_bytes", share->unique);
	if (space->has_own)
		json_number(json, "own_bytes", share->own);
	json_number(json, "shared_bytes", share->shared);
	json_number(json, "index_bytes", v->index.length);
	json_number(json, "source_bytes", v->source.length);
	json_number(json, "block_checksum_bytes", v->block_sums.length);
	if (options->metas)
		metas_json(&options->metas[v - catalogue->versions], json, "meta");
	signed_json(json, "signatures", v);
	list_json_extents(json, "segments", &v->segments);
	list_json_extents(json, "index", &v->index.extents);
	list_json_extents(json, "block_checksums", &v->block_sums.extents);
	json_end_object(json);
}

/* Prints a run of segments. Without a version the run is free, a copy, or holds the catalogue. */
static void list_json_run(struct json *json, const struct catalogue *catalogue, const struct list_space *space,
			  uint32_t number, const struct pins_run *run)
{
	const struct list_member *member = &space->members[number];
	const struct pins *pins = &member->pins;

	json_begin_object(json, NULL);
	json_number(json, "member", number);
	json_number(json, "offset", run->from * space->segment_size);
	json_number(json, "length", list_space_bytes(space, member, run->from, run->to));
	json_bool(json, "catalogue", run->catalogue);
	json_begin_array(json, "versions");
	for (uint32_t v = pins_version(pins, 0); v < pins->versions; v = pins_version(pins, v + 1))
		json_string(json, NULL, catalogue->versions[v].label);
	json_end_array(json);
	json_end_object(json);
}

static void list_json_space(struct json *json, const struct catalogue *catalogue, struct list_space *space)
{
	struct pins_run run;

	json_begin_array(json, "space");
	for (uint32_t i = 0; i < space->member_count; i++)
		for (pins_rewind(&space->members[i].pins); pins_next(&space->members[i].pins, &run);)
			list_json_run(json, catalogue, space, i, &run);
	json_end_array(json);
}

static void list_json_members(struct json *json, const struct volume *volume, const struct list_space *space)
{
	const struct members *table = &volume->catalogue.members;

	json_begin_array(json, "member_list");
	for (uint32_t i = 0; i < space->member_count; i++) {
		const struct list_member *member = &space->members[i];

		json_begin_object(json, NULL);
		json_number(json, "member", i);
		if (volume->names[i])
			json_string(json, "name", volume->names[i]);
		else
			json_null(json, "name");
		list_json_uuid(json, "uuid", member->super.member_uuid);
		json_string(json, "identity", member->super.identity);
		json_string(json, "domain", table->count ? table->list[i].domain : "");
		json_bool(json, "block_device", volume->array->geometry[i].is_block_device);
		json_number(json, "member_size", member->super.member_size);
		json_number(json, "segments", member->total);
		json_number(json, "segments_used", member->used);
		json_end_object(json);
	}
	json_end_array(json);
}

static const char *const list_use[] = {
	[FILE_USE_UNKNOWN] = "at work or ended without finishing",
	[FILE_USE_NONE] = "ended without finishing",
	[FILE_USE_WRITTEN] = "at work",
};

/* Finds out whether a publisher is at work. The lock of a device is visible only where the same node was opened: not in
 * every container, and on no other host. */
static enum file_use list_find_use(const struct volume *volume)
{
	enum file_use use = FILE_USE_NONE;

	for (uint32_t i = 0; i < volume->array->count; i++) {
		enum file_use one = volume->array->fds[i] < 0 ? FILE_USE_NONE : file_use(volume->array->fds[i]);

		if (one == FILE_USE_WRITTEN)
			return one;
		if (one == FILE_USE_UNKNOWN)
			use = one;
	}
	return use == FILE_USE_NONE && volume->array->geometry->is_block_device ? FILE_USE_UNKNOWN : use;
}

static void list_json_publisher(struct json *json, const struct list_publisher *publisher)
{
	if (!publisher->is_there) {
		json_null(json, "publisher");
		return;
	}
	json_begin_object(json, "publisher");
	json_string(json, "host", publisher->host);
	json_number(json, "process", publisher->process);
	json_number(json, "since", publisher->since);
	if (publisher->use == FILE_USE_UNKNOWN)
		json_null(json, "at_work");
	else
		json_bool(json, "at_work", publisher->use == FILE_USE_WRITTEN);
	json_end_object(json);
}

static bool list_shows(const struct list_options *options, const struct version *version)
{
	return !options->only || options->only == version;
}

static void list_json(const struct list_options *options, const struct volume *volume, struct list_space *space,
		      const struct list_publisher *publisher)
{
	struct json json = { .out = stdout };
	const struct version *current = catalogue_current(&volume->catalogue);

	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	list_json_uuid(&json, "uuid", volume->super.volume_uuid);
	json_bool(&json, "block_device", volume->array->geometry->is_block_device);
	json_number(&json, "size",
		    space->member_count > 1 ? space->size : source_size(&volume->array->source, 0));
	json_number(&json, "member_size", volume->super.member_size);
	json_number(&json, "members", volume->super.member_count);
	list_json_members(&json, volume, space);
	json_string(&json, "identity", volume->super.identity);
	json_number(&json, "superblock_sequence", volume->super.sequence);
	json_number(&json, "segment_size", space->segment_size);
	json_number(&json, "segments", space->total);
	json_number(&json, "segments_used", space->used);
	json_number(&json, "segments_free", space->total - space->used);
	json_number(&json, "free_bytes", space->free_bytes);
	json_number(&json, "grown_bytes", space->grown);
	json_number(&json, "next_sequence", volume->catalogue.next_sequence);
	json_number(&json, "tail", volume->catalogue.tail);
	if (current)
		json_string(&json, "current", current->label);
	else
		json_null(&json, "current");
	list_json_publisher(&json, publisher);
	json_begin_array(&json, "versions");
	for (uint32_t i = 0; i < volume->catalogue.version_count; i++)
		if (list_shows(options, &volume->catalogue.versions[i]))
			list_json_version(&json, options, &volume->catalogue, &volume->catalogue.versions[i], space);
	json_end_array(&json);
	list_json_space(&json, &volume->catalogue, space);
	json_end_object(&json);
	putchar('\n');
}

/* --- text --- */

static void list_text_member(struct grid *grid, uint32_t number, const struct list_member *member, const char *name)
{
	char uuid[UUID_TEXT_SIZE], size[SIZE_TEXT_SIZE];

	format_uuid(member->super.member_uuid, uuid);
	grid_cell(grid, "%" PRIu32, number);
	grid_cell(grid, "%s", format_size(member->size, size));
	grid_cell(grid, "%" PRIu64, member->total);
	grid_cell(grid, "%" PRIu64, member->used);
	grid_cell(grid, "%s", uuid);
	if (name)
		grid_name(grid, name, strlen(name));
	else
		grid_cell(grid, "(missing)");
}

static int list_text_members(const struct volume *volume, const struct list_space *space, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	int r = grid_new(&grid, err);

	if (r < 0)
		return r;
	grid_columns(grid, GRID_RIGHT, "MEMBER", "SIZE", "SEGMENTS", "USED");
	grid_columns(grid, GRID_LEFT, "UUID", "NAME");
	for (uint32_t i = 0; i < space->member_count; i++)
		list_text_member(grid, i, &space->members[i], volume->names[i]);
	putchar('\n');
	return grid_print(grid, 2, err);
}

/* Says who changes the volume; a publisher that was killed, or whose device failed, leaves its record. */
static void list_text_publisher(const struct list_publisher *publisher)
{
	char since[TEXT_TIME_SIZE];

	printf("publisher   on ");
	text_write(stdout, publisher->host, strlen(publisher->host));
	printf(" since %s UTC process=%" PRIu64 ", %s\n", text_time((int64_t)publisher->since, since),
	       publisher->process, list_use[publisher->use]);
}

static int list_text_head(const struct volume *volume, const struct list_space *space,
			  const struct list_publisher *publisher, struct error *err)
{
	char uuid[UUID_TEXT_SIZE], size[SIZE_TEXT_SIZE], segment[SIZE_TEXT_SIZE], room[SIZE_TEXT_SIZE];
	char grown[SIZE_TEXT_SIZE];
	int r = 0;

	format_uuid(volume->super.volume_uuid, uuid);
	fputs("volume      ", stdout);
	text_write(stdout, volume->path, strlen(volume->path));
	if (space->member_count > 1)
		printf(" (%" PRIu32 " members, %s)\n", space->member_count, format_size(space->size, size));
	else
		printf(" (%s)\n", format_size(source_size(&volume->array->source, 0), size));
	printf("uuid        %s\n", uuid);
	printf("superblock  sequence %" PRIu64 "\n", volume->super.sequence);
	printf("segments    %" PRIu64 " of %s: %" PRIu64 " used, %" PRIu64 " free; room for %s%s\n", space->total,
	       format_size(space->segment_size, segment), space->used, space->total - space->used,
	       format_size(space->free_bytes, room),
	       volume->array->geometry->is_block_device ? "" : "; the file grows when needed");
	if (space->grown)
		printf("grown       by %s, which 'datasetfsctl member grow' takes\n", format_size(space->grown, grown));
	if (space->member_count > 1)
		r = list_text_members(volume, space, err);
	if (publisher->is_there)
		list_text_publisher(publisher);
	return r;
}

/* Whether the table has a column for signatures. */
static bool list_has_signatures(const struct catalogue *catalogue)
{
	for (uint32_t i = 0; i < catalogue->version_count; i++)
		if (catalogue->versions[i].signature_bytes)
			return true;
	return false;
}

static void list_text_version(struct grid *grid, const struct catalogue *catalogue, const struct version *v,
			      const struct list_space *space, bool is_signed)
{
	const struct list_share *share = &space->shares[v - catalogue->versions];
	char key[SIGNED_TEXT_SIZE], size[SIZE_TEXT_SIZE], created[TEXT_TIME_SIZE], digest[DIGEST_TEXT_SIZE];

	format_digest(v->digest, digest);
	grid_cell(grid, "%s", v->sequence == catalogue->current ? "*" : "");
	grid_cell(grid, "%s", v->label);
	grid_cell(grid, "%" PRIu64, v->sequence);
	grid_cell(grid, "%" PRIu64, v->file_count);
	grid_cell(grid, "%s", format_size(v->content_bytes, size));
	grid_cell(grid, "%s", format_size(v->stored_bytes, size));
	grid_cell(grid, "%s", format_size(v->index.length, size));
	grid_cell(grid, "%s", format_size(share->unique, size));
	if (space->has_own)
		grid_cell(grid, "%s", format_size(share->own, size));
	grid_cell(grid, "%s", format_size(share->shared, size));
	if (catalogue->members.count)
		grid_cell(grid, "%u%%", list_protection(share));
	grid_cell(grid, "%s", sum_name(v->shape.chunk_sum));
	grid_cell(grid, "%s", v->created ? text_time((int64_t)v->created, created) : "-");
	if (is_signed)
		grid_cell(grid, "%s", signed_text(v, key));
	grid_cell(grid, "%s", digest);
}

static int list_text_versions(const struct list_options *options, const struct catalogue *catalogue,
			      const struct list_space *space, struct error *err)
{
	const bool is_signed = list_has_signatures(catalogue);
	auto_grid struct grid *grid = NULL;
	int r = grid_new(&grid, err);

	if (r < 0)
		return r;
	grid_columns(grid, GRID_LEFT, "", "LABEL"); /* the first is the current version's mark */
	grid_columns(grid, GRID_RIGHT, "SEQ", "FILES", "CONTENT", "STORED", "INDEX", "UNIQUE");
	if (space->has_own)
		grid_columns(grid, GRID_RIGHT, "AFTER COMPACT");
	grid_columns(grid, GRID_RIGHT, "SHARED");
	if (catalogue->members.count)
		grid_columns(grid, GRID_RIGHT, "MIRRORED");
	grid_columns(grid, GRID_LEFT, "SUMS", "CREATED (UTC)");
	if (is_signed)
		grid_columns(grid, GRID_LEFT, "SIGNED, NOT CHECKED");
	grid_columns(grid, GRID_LEFT, "DIGEST");
	for (uint32_t i = 0; i < catalogue->version_count; i++)
		if (list_shows(options, &catalogue->versions[i]))
			list_text_version(grid, catalogue, &catalogue->versions[i], space, is_signed);
	putchar('\n');
	r = grid_print(grid, 0, err);
	if (r == 0 && options->metas)
		r = metas_text(options->metas, catalogue, err);
	if (r < 0)
		return r;
	putchar('\n');
	if (catalogue->version_count > 1 && !space->has_own)
		puts("UNIQUE is what 'remove' frees; 'list --space' says what 'compact' then frees as well.");
	puts(DIGEST_PROVES);
	return 0;
}

/* Adds a run of segments that the same versions pin. */
static void list_text_run(struct grid *grid, const struct catalogue *catalogue, const struct list_space *space,
			  uint32_t number, const struct pins_run *run)
{
	const struct list_member *member = &space->members[number];
	const struct pins *pins = &member->pins;
	char length[SIZE_TEXT_SIZE];
	const char *between = "";
	FILE *out;

	if (space->member_count > 1)
		grid_cell(grid, "%" PRIu32, number);
	grid_cell(grid, "%s", format_size(list_space_bytes(space, member, run->from, run->to), length));
	grid_cell(grid, "%" PRIu64, run->from * space->segment_size);
	out = grid_next(grid);
	for (uint32_t v = pins_version(pins, 0); v < pins->versions; v = pins_version(pins, v + 1), between = " ")
		shown_print(out, "%s%s", between, catalogue->versions[v].label);
	if (!run->users)
		shown_print(out, "%s%s", between, run->catalogue ? "(catalogue)" :
						  space->has_copies ? "(free, or copies)" : "(free)");
}

static int list_text_pins(const struct catalogue *catalogue, struct list_space *space, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	struct pins_run run;
	int r = grid_new(&grid, err);

	if (r < 0)
		return r;
	if (space->member_count > 1)
		grid_columns(grid, GRID_RIGHT, "MEMBER");
	grid_columns(grid, GRID_RIGHT, "BYTES", "FROM");
	grid_columns(grid, GRID_LEFT, "PINNED BY");
	for (uint32_t i = 0; i < space->member_count; i++)
		for (pins_rewind(&space->members[i].pins); pins_next(&space->members[i].pins, &run);)
			list_text_run(grid, catalogue, space, i, &run);
	putchar('\n');
	return grid_print(grid, 2, err);
}

static int list_text(const struct list_options *options, const struct volume *volume, struct list_space *space,
		     const struct list_publisher *publisher, struct error *err)
{
	const struct catalogue *catalogue = &volume->catalogue;
	int r = list_text_head(volume, space, publisher, err);

	if (r == 0 && !catalogue->version_count)
		printf("\nno versions\n");
	else if (r == 0)
		r = list_text_versions(options, catalogue, space, err);
	return r == 0 && options->space ? list_text_pins(catalogue, space, err) : r;
}

static int list_show(const struct list_options *options, const struct volume *volume, struct list_space *space,
		     struct error *err)
{
	struct list_publisher publisher = { 0 };

	publisher.is_there =
		publisher_read(&volume->array->source, 0, publisher.host, &publisher.process, &publisher.since);
	publisher.use = list_find_use(volume);
	if (!options->common.json)
		return list_text(options, volume, space, &publisher, err);
	list_json(options, volume, space, &publisher);
	return 0;
}

int list_run(int argc, char **argv)
{
	struct list_options options = { 0 };
	struct list_space space = { 0 };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&list_line, argc, argv, &options, &operands, &status))
		return status;
	r = volume_open_loaded(argv[1], &volume, &err);
	if (r == 0 && operands > 1)
		r = volume_version(volume, argv[2], &options.only, &err);
	if (r == 0)
		r = list_space_measure(volume, &space, &err);
	if (r == 0 && options.space && own_measure(volume, &space, &err) < 0)
		log_warn("what 'compact' would free is not known: %s", err.reason);
	if (r == 0 && options.verbose)
		r = metas_load(volume, options.only, &options.metas, &err);
	if (r == 0)
		r = list_show(&options, volume, &space, &err);
	metas_free(options.metas, volume);
	list_space_free(&space);
	if (r < 0) {
		log_error(&err, "cannot list '%s'", argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
