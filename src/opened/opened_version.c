/* SPDX-License-Identifier: MIT */
#include "opened/opened_version.h"

#include <errno.h>

#include "base/cleanup.h"
#include "image/catalogue/index_load.h"
#include "opened/version_record.h"

int opened_version_load_sums(struct backing backing, struct opened_version *opened, struct error *ret_damage,
			     struct error *err)
{
	block_sums_close(opened->block_sums);
	opened->block_sums = NULL;
	if (block_sums_load(backing, &opened->version, &opened->block_sums, ret_damage) == -ENOMEM)
		return error_no_memory(err);
	return 0;
}

int opened_version_load(struct backing backing, const struct version *version, struct opened_version *ret,
			struct error *ret_damage, struct error *err)
{
	int r = ret->index ? 0 : index_load(backing, version, &ret->index, err);

	if (r == 0) {
		ret->version = *version;
		r = version_copy_lists(version, &ret->version, err);
	}
	if (r == 0 && !ret->block_sums)
		r = opened_version_load_sums(backing, ret, ret_damage, err);
	if (r < 0)
		opened_version_close(ret);
	return r;
}

int opened_version_record(const struct opened_version *opened, int *ret_fd, struct error *err)
{
	const struct version_record record = {
		.hidden_mode = opened->hidden_mode,
		.member_size = opened->index->member_sizes[0],
		.version = opened->version,
		.members = opened->index->members,
		.block_sums = opened->block_sums,
	};

	return version_record_write(&record, ret_fd, err);
}

int opened_version_receive(int record_fd, int *index_fd, struct opened_version *ret, struct error *err)
{
	struct version_record record;
	int r = version_record_read(record_fd, &record, err);

	if (r < 0)
		return r;
	*ret = (struct opened_version){ .hidden_mode = record.hidden_mode };
	r = index_load_sealed(*index_fd, &record.version, record.member_size, &record.members, &ret->index, err);
	if (r == 0) {
		(void)take_fd(index_fd);
		ret->version = record.version;
		ret->block_sums = take_ptr(&record.block_sums);
		version_disown_lists(&record.version);
	}
	version_record_free(&record);
	return r;
}

void opened_version_close(struct opened_version *opened)
{
	block_sums_close(opened->block_sums);
	index_close(opened->index);
	version_free(&opened->version);
	*opened = (struct opened_version){ .index = NULL };
}
