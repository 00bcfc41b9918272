/* SPDX-License-Identifier: MIT */
/* Opens one file or device and reads its superblock and its table of members. */
#include "assembly/candidate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "device/locate.h"
#include "image/catalogue/catalogue.h"
#include "io/array.h"
#include "io/site.h"

void candidate_close(struct candidate *candidate)
{
	if (candidate->probe)
		(void)!read_probe_end(candidate->probe, 0, NULL);
	free(candidate->name);
	file_close(candidate->file);
	members_free(&candidate->table);
	*candidate = (struct candidate){ 0 };
}

static void candidate_identify(struct candidate *candidate, const struct topology *topology)
{
	const struct topology_namespace *namespace = NULL;

	if (topology && S_ISBLK(candidate->st.st_mode))
		namespace = topology_below(topology, candidate->st.st_rdev);
	if (namespace)
		topology_identity(namespace, candidate->identity);
}

int candidate_open(const char *name, const struct topology *topology, int64_t patience, struct candidate *ret,
		   struct error *err)
{
	struct candidate candidate = { .name = strdup(name) };
	auto_free char *path = NULL;
	int r = candidate.name ? locate_path(name, &path, err) : error_no_memory(err);

	if (r == 0)
		r = file_open(path, FILE_READ, &candidate.file, err);
	if (r == 0 && fstat(candidate.file->fd, &candidate.st) < 0)
		r = error_errno(err, "fstat");
	if (r < 0) {
		candidate_close(&candidate);
		return r;
	}
	candidate.file->patience = patience;
	candidate_identify(&candidate, topology);
	candidate.is_silent = read_probe_begin(candidate.file->fd, &candidate.probe, &candidate.unreadable) ==
			      -ETIMEDOUT;
	*ret = candidate;
	return 0;
}

int candidate_read(struct candidate *candidate, struct error *err)
{
	struct error *why = &candidate->unreadable;
	int r = 0;

	if (candidate->probe)
		r = read_probe_end(take_ptr(&candidate->probe), candidate->file->patience, why);
	if (r == -EINTR)
		return error_pass(err, r, why);
	candidate->is_silent |= r == -ETIMEDOUT;
	if (candidate->is_silent) {
		error_wrap(why, why->code, "it does not answer");
		return 0;
	}
	superblock_read_rings(&candidate->file->source, 0, &candidate->ring, 1);
	if (error_is_shortage(candidate->ring.unread.code))
		return error_set(err, candidate->ring.unread.code, "'%s': %s", candidate->name,
				 candidate->ring.unread.reason);
	if (superblock_of_ring(&candidate->ring, &candidate->super, why) < 0)
		candidate->super.sequence = 0;
	return 0;
}

bool candidate_has_members(const struct candidate *candidate)
{
	return candidate->super.sequence && candidate->super.feature_incompat & DSFS_INCOMPAT_MEMBERS;
}

/* Reads the table from an array with the file in its own slot, as addresses contain the member's number. */
void candidate_look(struct candidate *candidate)
{
	struct catalogue catalogue = { 0 };
	struct array_source *array;

	if (!candidate_has_members(candidate) ||
	    array_new(candidate->super.member_count, &array, &candidate->damaged) < 0)
		return;
	(void)array_put(array, candidate->super.member, candidate->file);
	if (catalogue_load_by(&array->source, &candidate->super, &catalogue, &candidate->damaged) == 0) {
		candidate->table = catalogue.members;
		catalogue.members = (struct members){ 0 };
	}
	catalogue_free(&catalogue);
	(void)array_put(array, candidate->super.member, NULL);
	array_close(array);
}

uint32_t candidate_slot(const struct candidate *candidate, const struct members *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (!memcmp(table->list[i].uuid, candidate->super.member_uuid, sizeof(table->list[i].uuid)))
			return i;
	return UINT32_MAX;
}

bool candidate_is_known_to(const struct candidate *candidate, const struct candidate *other)
{
	uint32_t slot = candidate_slot(candidate, &other->table);

	return candidate != other && slot != UINT32_MAX &&
	       !strcmp(other->table.list[slot].identity, candidate->identity);
}
