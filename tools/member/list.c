/* SPDX-License-Identifier: MIT */
/* datasetfsctl member list: shows the place of each member of a volume, its state and its bytes in use. */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "grid.h"
#include "member/member.h"

static const struct option_spec list_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line member_list_line = {
	.program = "datasetfsctl member list",
	.usage = "VOLUME|MNT",
	.operands = { 1, 1 },
	.summary = "Show the members and their states.\n"
		   "A stale member was away while the volume was changed.",
	.options = list_table,
};

/* Returns the superblock since which a member is stale: from the table if it is missing, its own if it is back. */
static uint64_t list_since(const struct member *member)
{
	return member->missing_from > 1 ? member->missing_from - 1 : member->stale_sequence;
}

static const char *list_state(const struct volume *volume, uint32_t number)
{
	if (!volume->catalogue.members.list[number].missing_from)
		return "ok";
	return volume->names[number] ? "stale" : "missing";
}

static void list_json_text(struct json *json, const char *key, const char *text)
{
	if (text && text[0])
		json_string(json, key, text);
	else
		json_null(json, key);
}

static void list_json_member(struct json *json, const struct volume *volume, uint32_t number)
{
	const struct member *member = &volume->catalogue.members.list[number];
	char uuid[UUID_TEXT_SIZE];
	uint32_t groups;

	format_uuid(member->uuid, uuid);
	json_begin_object(json, NULL);
	json_number(json, "member", number);
	json_string(json, "state", list_state(volume, number));
	if (list_since(member))
		json_number(json, "stale_since", list_since(member));
	else
		json_null(json, "stale_since");
	list_json_text(json, "why", volume->whys[number]);
	json_string(json, "uuid", uuid);
	json_number(json, "size", member->size);
	json_number(json, "used_bytes", member_used(&volume->catalogue.members, number, &groups));
	json_number(json, "groups", groups);
	list_json_text(json, "name", volume->names[number]);
	list_json_text(json, "identity", member->identity);
	list_json_text(json, "domain", member->domain);
	json_end_object(json);
}

static void list_json(const struct volume *volume)
{
	struct json json = { .out = stdout };
	char uuid[UUID_TEXT_SIZE];

	format_uuid(volume->super.volume_uuid, uuid);
	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	json_string(&json, "uuid", uuid);
	json_number(&json, "superblock", volume->super.sequence);
	json_begin_array(&json, "members");
	for (uint32_t i = 0; i < volume->catalogue.members.count; i++)
		list_json_member(&json, volume, i);
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
}

static void list_text_member(struct grid *grid, const struct volume *volume, uint32_t number)
{
	const struct member *member = &volume->catalogue.members.list[number];
	const char *state = list_state(volume, number), *why = volume->whys[number];
	char uuid[UUID_TEXT_SIZE], size[SIZE_TEXT_SIZE], used[SIZE_TEXT_SIZE];
	uint32_t groups;
	uint64_t bytes = member_used(&volume->catalogue.members, number, &groups);

	format_uuid(member->uuid, uuid);
	grid_cell(grid, "%" PRIu32, number);
	if (list_since(member))
		grid_cell(grid, "%s since %" PRIu64, state, list_since(member));
	else
		grid_cell(grid, "%s", state);
	grid_cell(grid, "%s", format_size(member->size, size));
	grid_cell(grid, "%s", format_size(bytes, used));
	grid_cell(grid, "%" PRIu32, groups);
	grid_cell(grid, "%s", uuid);
	grid_cell(grid, "%s%s%s%s%s", volume->names[number] ? volume->names[number] : "-",
		  member->identity[0] ? " " : "", member->identity, member->domain[0] ? " in " : "", member->domain);
	grid_cell(grid, "%s%s%s", why ? state : "", why ? ": " : "", why ? why : "");
}

static int list_text(const struct volume *volume, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	int r = grid_new(&grid, err);

	if (r < 0)
		return r;
	grid_columns(grid, GRID_RIGHT, "MEMBER");
	grid_columns(grid, GRID_LEFT, "STATE");
	grid_columns(grid, GRID_RIGHT, "SIZE", "USED", "GROUPS");
	grid_columns(grid, GRID_LEFT, "UUID", "NAME");
	grid_columns(grid, GRID_BELOW, "");
	for (uint32_t i = 0; i < volume->catalogue.members.count; i++)
		list_text_member(grid, volume, i);
	return grid_print(grid, 0, err);
}

int member_list_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&member_list_line, argc, argv, &options, &operands, &status))
		return status;
	r = member_open(argv[1], &volume, &err);
	if (r == 0 && options.json)
		list_json(volume);
	else if (r == 0)
		r = list_text(volume, &err);
	if (r < 0) {
		log_error(&err, "cannot list the members of '%s'", argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
