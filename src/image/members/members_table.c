/* SPDX-License-Identifier: MIT */
/* Encodes the table, and decodes it with every value checked, at a cost that is bounded by the bytes that are there. */
#include "image/members/members_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "image/members/address.h"

/* The parts of the table, one after the other. */
struct table_parts {
	struct dsfs_members *head;
	struct dsfs_member *list;
	struct dsfs_group *groups;
	dsfs_le64 *columns;
	struct dsfs_epoch *history;
};

static uint64_t table_length(uint64_t members, uint64_t groups, uint64_t columns, uint64_t epochs)
{
	return sizeof(struct dsfs_members) + members * sizeof(struct dsfs_member) +
	       groups * sizeof(struct dsfs_group) + columns * sizeof(dsfs_le64) + epochs * sizeof(struct dsfs_epoch);
}

static struct table_parts table_parts(uint8_t *bytes, const struct members *m)
{
	struct table_parts parts = { .head = (struct dsfs_members *)bytes };

	parts.list = (struct dsfs_member *)(parts.head + 1);
	parts.groups = (struct dsfs_group *)(parts.list + m->count);
	parts.columns = (dsfs_le64 *)(parts.groups + m->group_count);
	parts.history = (struct dsfs_epoch *)(parts.columns + m->column_count);
	return parts;
}

/* --- encoding --- */

uint64_t members_table_length(const struct members *m)
{
	return m->count ? table_length(m->count, m->group_count, m->column_count, m->history_count) : 0;
}

static void member_encode(const struct member *member, struct dsfs_member *disk)
{
	memcpy(disk->uuid, member->uuid, sizeof(disk->uuid));
	disk->size = dsfs_le64_of(member->size);
	disk->state = dsfs_le32_of(member->state);
	disk->stale_sequence = dsfs_le64_of(member->stale_sequence);
	memcpy(disk->stale_sha256, member->stale_sha256, sizeof(disk->stale_sha256));
	memcpy(disk->identity, member->identity, strnlen(member->identity, sizeof(disk->identity)));
	memcpy(disk->domain, member->domain, strnlen(member->domain, sizeof(disk->domain)));
}

static void group_encode(const struct member_group *group, struct dsfs_group *disk)
{
	disk->birth = dsfs_le64_of(group->birth);
	disk->tail = dsfs_le32_of(group->tail);
	disk->first_column = dsfs_le32_of(group->first_column);
	disk->kind = group->kind;
	disk->data = group->data;
	disk->redundant = group->redundant;
}

void members_table_encode(const struct members *m, uint8_t *bytes)
{
	struct table_parts parts = table_parts(bytes, m);

	if (!m->count)
		return;
	parts.head->member_count = dsfs_le32_of(m->count);
	parts.head->group_count = dsfs_le32_of(m->group_count);
	parts.head->column_count = dsfs_le32_of(m->column_count);
	parts.head->history_count = dsfs_le32_of(m->history_count);
	parts.head->nonce = dsfs_le64_of(m->nonce);
	for (uint32_t i = 0; i < m->count; i++)
		member_encode(&m->list[i], &parts.list[i]);
	for (uint32_t i = 0; i < m->group_count; i++)
		group_encode(&m->groups[i], &parts.groups[i]);
	for (uint32_t i = 0; i < m->column_count; i++)
		parts.columns[i] = dsfs_le64_of(m->columns[i]);
	for (uint32_t i = 0; i < m->history_count; i++) {
		parts.history[i].sequence = dsfs_le64_of(m->history[i].sequence);
		memcpy(parts.history[i].sha256, m->history[i].sha256, sizeof(parts.history[i].sha256));
	}
}

/* --- members --- */

static void member_decode(const struct dsfs_member *disk, struct member *member)
{
	memcpy(member->uuid, disk->uuid, sizeof(member->uuid));
	member->size = dsfs_le64_get(disk->size);
	member->state = dsfs_le32_get(disk->state);
	member->stale_sequence = dsfs_le64_get(disk->stale_sequence);
	memcpy(member->stale_sha256, disk->stale_sha256, sizeof(member->stale_sha256));
	memcpy(member->identity, disk->identity, sizeof(disk->identity));
	memcpy(member->domain, disk->domain, sizeof(disk->domain));
}

static bool member_has_own_uuid(const struct members *m, uint32_t number)
{
	const uint8_t *uuid = m->list[number].uuid;

	for (uint32_t i = 0; i < number; i++)
		if (!memcmp(m->list[i].uuid, uuid, sizeof(m->list[i].uuid)))
			return false;
	return !bytes_are_zero(uuid, sizeof(m->list[number].uuid));
}

static int member_check_state(const struct member *member, uint32_t number, const struct superblock *super,
			      struct error *err)
{
	bool is_stale = member->state == DSFS_MEMBER_STALE, has_sequence = member->stale_sequence != 0;

	if (member->state != DSFS_MEMBER_IN_USE && !is_stale)
		return error_set(err, -EOPNOTSUPP,
				 "members: member %" PRIu32 " has state %" PRIu32 ", a newer release is needed", number,
				 member->state);
	if (has_sequence != is_stale || member->stale_sequence >= super->sequence ||
	    (!is_stale && !bytes_are_zero(member->stale_sha256, sizeof(member->stale_sha256))))
		return error_set(err, -EBADMSG,
				 "members: member %" PRIu32 " of state %" PRIu32 " has the last superblock %" PRIu64,
				 number, member->state, member->stale_sequence);
	return 0;
}

static int member_check(const struct members *m, uint32_t number, const struct superblock *super, struct error *err)
{
	const struct member *member = &m->list[number];

	if (!member_has_own_uuid(m, number))
		return error_set(err, -EBADMSG, "members: member %" PRIu32 " has no UUID or that of another", number);
	if (member->size % DSFS_BLOCK || member->size < DSFS_DATA_AT || member->size >> DSFS_ADDRESS_BITS)
		return error_set(err, -EBADMSG, "members: member %" PRIu32 " of %" PRIu64 " bytes", number,
				 member->size);
	return member_check_state(member, number, super, err);
}

static int table_decode_list(const struct table_parts *parts, const struct superblock *super, struct members *m,
			     struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < m->count; i++) {
		member_decode(&parts->list[i], &m->list[i]);
		r = member_check(m, i, super, err);
	}
	return r;
}

/* --- groups and their columns --- */

static int group_check(const struct members *m, uint32_t number, uint64_t next_column, const struct superblock *super,
		       struct error *err)
{
	const struct member_group *group = &m->groups[number];
	uint32_t count = group->data + group->redundant;

	if (group->kind != DSFS_GROUP_COPIES)
		return error_set(err, -EOPNOTSUPP,
				 "members: group %" PRIu32 " is of kind %u, a newer release is needed", number,
				 group->kind);
	if (group->data != 1 || count > DSFS_COPIES_MAX)
		return error_set(err, -EBADMSG, "members: group %" PRIu32 " of copies has %u + %u columns", number,
				 group->data, group->redundant);
	if (group->first_column != next_column || count > m->column_count - next_column)
		return error_set(err, -EBADMSG,
				 "members: group %" PRIu32 " has columns %" PRIu32 "+%" PRIu32 " of %" PRIu32
				 ", expected to begin at %" PRIu64,
				 number, group->first_column, count, m->column_count, next_column);
	if (group->tail % DSFS_BLOCK || group->tail > UINT64_C(1) << m->segment_log)
		return error_set(err, -EBADMSG, "members: group %" PRIu32 " has the tail %" PRIu32, number,
				 group->tail);
	if (group->birth == 0 || group->birth > super->sequence)
		return error_set(err, -EBADMSG,
				 "members: group %" PRIu32 " was born with superblock %" PRIu64 ", this is %" PRIu64,
				 number, group->birth, super->sequence);
	return 0;
}

/* True if the column is on its member. In a file it may be cut short after the tail. */
static bool column_is_inside(const struct members *m, uint64_t address, uint32_t tail)
{
	uint64_t segment = UINT64_C(1) << m->segment_log, offset = address_offset(address);
	uint64_t size = members_size(m, address_member(address));

	return offset % segment == 0 && offset >= segment && offset <= size && tail <= size - offset;
}

static int group_decode_columns(struct members *m, uint32_t number, const dsfs_le64 *columns, struct error *err)
{
	const struct member_group *group = &m->groups[number];
	uint64_t *own = &m->columns[group->first_column];

	for (uint32_t i = 0; i < (uint32_t)group->data + group->redundant; i++) {
		own[i] = dsfs_le64_get(columns[group->first_column + i]);
		if (!column_is_inside(m, own[i], group->tail))
			return error_set(err, -EBADMSG,
					 "members: group %" PRIu32 " has a column at %#" PRIx64
					 ", where none can be", number, own[i]);
		for (uint32_t k = 0; k < i; k++)
			if (address_member(own[k]) == address_member(own[i]))
				return error_set(err, -EBADMSG,
						 "members: group %" PRIu32 " has two columns on member %" PRIu32,
						 number, address_member(own[i]));
		m->places[group->first_column + i] = (struct member_column){ own[i], number, i };
	}
	return 0;
}

static void group_decode(const struct dsfs_group *disk, struct member_group *group)
{
	*group = (struct member_group){ .birth = dsfs_le64_get(disk->birth),
					.tail = dsfs_le32_get(disk->tail),
					.first_column = dsfs_le32_get(disk->first_column),
					.kind = disk->kind, .data = disk->data, .redundant = disk->redundant };
}

static int table_decode_groups(const struct table_parts *parts, const struct superblock *super, struct members *m,
			       struct error *err)
{
	uint64_t twice = 0;
	uint32_t next = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < m->group_count; i++) {
		group_decode(&parts->groups[i], &m->groups[i]);
		r = group_check(m, i, next, super, err);
		if (r == 0)
			r = group_decode_columns(m, i, parts->columns, err);
		next += (uint32_t)m->groups[i].data + m->groups[i].redundant;
	}
	if (r < 0)
		return r;
	if (next != m->column_count)
		return error_set(err, -EBADMSG, "members: %" PRIu32 " columns, the groups have %" PRIu32,
				 m->column_count, next);
	if (!members_sort(m, &twice))
		return error_set(err, -EBADMSG, "members: the column at %#" PRIx64 " is in two groups", twice);
	return 0;
}

/* --- the rest --- */

static int table_decode_history(const struct table_parts *parts, const struct superblock *super, struct members *m,
				struct error *err)
{
	uint64_t last = super->sequence;

	for (uint32_t i = 0; i < m->history_count; i++) {
		m->history[i].sequence = dsfs_le64_get(parts->history[i].sequence);
		memcpy(m->history[i].sha256, parts->history[i].sha256, sizeof(m->history[i].sha256));
		if (m->history[i].sequence == 0 || m->history[i].sequence >= last)
			return error_set(err, -EBADMSG,
					 "members: the catalogue of superblock %" PRIu64 " came before that of %"
					 PRIu64, m->history[i].sequence, last);
		last = m->history[i].sequence;
	}
	return 0;
}

static int table_allocate(struct members *m, struct error *err)
{
	m->list = calloc(m->count, sizeof(*m->list));
	m->groups = calloc(m->group_count ? m->group_count : 1, sizeof(*m->groups));
	m->columns = calloc(m->column_count ? m->column_count : 1, sizeof(*m->columns));
	m->places = calloc(m->column_count ? m->column_count : 1, sizeof(*m->places));
	if (!m->list || !m->groups || !m->columns || !m->places)
		return error_no_memory(err);
	return 0;
}

/* Checks the counts before anything is allocated by them. */
static int table_decode_head(struct span span, const struct superblock *super, struct members *m, struct error *err)
{
	const struct dsfs_members *head = span_at(span, 0, sizeof(*head));
	uint64_t length;

	if (!head)
		return error_set(err, -EBADMSG, "members: %" PRIu64 " bytes are too few for a table", span.size);
	m->segment_log = super->segment_log;
	m->count = dsfs_le32_get(head->member_count);
	m->group_count = dsfs_le32_get(head->group_count);
	m->column_count = dsfs_le32_get(head->column_count);
	m->history_count = dsfs_le32_get(head->history_count);
	m->nonce = dsfs_le64_get(head->nonce);
	if (m->count != super->member_count)
		return error_set(err, -EBADMSG, "members: a table of %" PRIu32 ", the superblock has %" PRIu32,
				 m->count, super->member_count);
	length = table_length(m->count, m->group_count, m->column_count, m->history_count);
	if (m->history_count > DSFS_HISTORY_MAX || !span_at(span, 0, length))
		return error_set(err, -EBADMSG,
				 "members: %" PRIu32 " groups, %" PRIu32 " columns and %" PRIu32
				 " earlier catalogues do not fit in %" PRIu64 " bytes",
				 m->group_count, m->column_count, m->history_count, span.size);
	return 0;
}

int members_table_decode(struct span span, const struct superblock *super, struct members *ret, struct error *err)
{
	struct members m = { 0 };
	struct table_parts parts;
	int r = table_decode_head(span, super, &m, err);

	if (r < 0)
		return r;
	parts = table_parts((uint8_t *)(uintptr_t)span.base, &m);
	r = table_allocate(&m, err);
	if (r == 0)
		r = table_decode_list(&parts, super, &m, err);
	if (r == 0)
		r = table_decode_groups(&parts, super, &m, err);
	if (r == 0)
		r = table_decode_history(&parts, super, &m, err);
	if (r == 0)
		r = members_check_superblock(&m, super, err);
	if (r < 0) {
		members_free(&m);
		return r;
	}
	*ret = m;
	return 0;
}
