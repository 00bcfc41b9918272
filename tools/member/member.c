/* SPDX-License-Identifier: MIT */
/* datasetfsctl member: the table of its verbs, and the search for a member that they share. */
#include "member/member.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text/parse.h"
#include "device/locate.h"
#include "image/members/address.h"
#include "io/site.h"
#include "subverb.h"

static const struct subverb member_verbs[] = {
	{ "add", member_add_run, &member_add_line },
	{ "grow", member_grow_run, &member_grow_line },
	{ "list", member_list_run, &member_list_line },
	{ "rebalance", member_rebalance_run, &member_rebalance_line },
	{ "replace", member_replace_run, &member_replace_line },
};

static const struct option_spec member_table[] = { { 0 } };

const struct command_line member_line = {
	.program = "datasetfsctl member",
	.usage = "VERB ...",
	.summary = "Show the members of a volume, change them.",
	.options = member_table,
};

int member_run(int argc, char **argv)
{
	return subverb_run(&member_line, "", member_verbs, sizeof(member_verbs) / sizeof(*member_verbs), argc, argv);
}

/* --- shared by the verbs --- */

int member_open(const char *name, struct volume **ret, struct error *err)
{
	auto_volume struct volume *volume = NULL;
	int r = volume_open_loaded(name, &volume, err);

	if (r == 0 && !volume->catalogue.members.count)
		r = error_set(err, -EINVAL, "the volume is a single file or device: it has no members");
	if (r == 0)
		*ret = take_ptr(&volume);
	return r;
}

static bool member_is_at(const struct volume *volume, uint32_t number, const char *called)
{
	auto_free char *path = NULL;
	struct stat a, b;

	return volume->names[number] && locate_path(called, &path, NULL) == 0 && stat(path, &a) == 0 &&
	       stat(volume->names[number], &b) == 0 && site_is_same(&a, &b);
}

bool member_find_at(const struct volume *volume, const char *called, uint32_t *ret)
{
	for (uint32_t i = 0; i < volume->catalogue.members.count; i++) {
		if (!member_is_at(volume, i, called))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

int member_find(const struct volume *volume, const char *called, uint32_t *ret, struct error *err)
{
	const struct members *members = &volume->catalogue.members;
	bool is_number = called[0] && strspn(called, "0123456789") == strlen(called);
	uint64_t number = members->count;
	uint8_t uuid[16] = { 0 };
	bool is_uuid = parse_uuid(called, uuid, NULL) == 0;

	if (is_number && parse_u64(called, 0, members->count - 1, &number, NULL) < 0)
		return error_set(err, -ENOENT, "there is no member %s: they are 0 to %" PRIu32, called,
				 members->count - 1);
	for (uint32_t i = 0; !is_number && i < members->count; i++)
		if ((is_uuid && !memcmp(members->list[i].uuid, uuid, sizeof(uuid))) ||
		    (members->list[i].identity[0] && !strcmp(members->list[i].identity, called)) ||
		    member_is_at(volume, i, called))
			number = i;
	if (number == members->count)
		return error_set(err, -ENOENT,
				 "'%s' is no member of the volume: 'datasetfsctl member list' shows their numbers",
				 called);
	*ret = (uint32_t)number;
	return 0;
}

uint64_t member_used(const struct members *members, uint32_t number, uint32_t *ret_groups)
{
	uint64_t used = 0;

	*ret_groups = 0;
	for (uint32_t i = 0; i < members->column_count; i++)
		if (address_member(members->places[i].address) == number) {
			used += members->groups[members->places[i].group].tail;
			++*ret_groups;
		}
	return used;
}
