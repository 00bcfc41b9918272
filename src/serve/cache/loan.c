/* SPDX-License-Identifier: MIT */
/* Asks one after the other. A socket without a listener belonged to a daemon that was killed: its link is removed. */
#include "serve/cache/loan.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/passing.h"
#include "cache/mount_links.h"
#include "client/client.h"
#include "client/meeting.h"
#include "image/records.h"

#define LOAN_TIMEOUT 2000 /* ms within which a daemon must answer; the copy is read within seconds */

struct loan {
	int volume;
	const char *own;
	const struct version *version;
	struct backing backing;
	struct client_borrow query;
	struct opened_version *lent;
};

static int loan_ask(struct loan *loan, int fd, struct passing_packet *packet, struct error *err)
{
	int r = passing_send(fd, &loan->query, sizeof(loan->query), NULL, 0, err);

	if (r == 0)
		r = passing_receive(fd, LOAN_TIMEOUT, CLIENT_LENT_FDS, packet, err);
	if (r == 0)
		r = client_check_answer(packet->bytes, packet->length, CLIENT_LENT, sizeof(struct client_lent), err);
	if (r == 0 && packet->fd_count != CLIENT_LENT_FDS)
		return error_set(err, -EPROTO, "%u descriptors came, expected %d", packet->fd_count, CLIENT_LENT_FDS);
	return r;
}

/* Checks that the index was checked for the same version and as many members. Their sizes do not matter, as each
 * reader checks addresses by its own. */
static int loan_check(const struct loan *loan, const struct opened_version *lent, struct error *err)
{
	if (version_is_same(&lent->version, loan->version) &&
	    lent->index->members.count == loan->backing.members->count)
		return 0;
	return error_set(err, -ESTALE, "it has another version open, '%s'", lent->version.label);
}

static int loan_receive(struct loan *loan, int fd, struct error *err)
{
	struct passing_packet packet = { .fd_count = 0 };
	struct opened_version lent = { .index = NULL };
	int r = loan_ask(loan, fd, &packet, err);

	if (r == 0)
		r = opened_version_receive(packet.fds[CLIENT_LENT_RECORD], &packet.fds[CLIENT_LENT_INDEX], &lent, err);
	if (r == 0)
		r = loan_check(loan, &lent, err);
	if (r == 0)
		r = index_set_members(lent.index, loan->backing.size, loan->backing.members, err);
	if (r == 0)
		r = records_measure(lent.index, err);
	if (r == 0) {
		loan->lent->index = take_ptr(&lent.index);
		loan->lent->block_sums = take_ptr(&lent.block_sums);
	}
	opened_version_close(&lent);
	passing_close(&packet);
	return r;
}

/* Stops with 1 when one has lent the index, or after one that does not answer: to wait for others as well would take
 * longer than to read the copy. */
static int loan_try(void *argument, const char *name, const char *path, struct error *err)
{
	struct loan *loan = argument;
	auto_close int fd = -1;
	struct error why = { 0 };
	int r;

	(void)err;
	if (!strcmp(name, loan->own))
		return 0;
	r = meeting_connect(path, LOAN_TIMEOUT, &fd, &why);
	if (r == -ECONNREFUSED || r == -ENOENT)
		mount_links_remove(loan->volume, name);
	if (r == 0)
		r = loan_receive(loan, fd, &why);
	if (r < 0)
		log_debug("the mount at '%s' does not lend the index of version '%s': %s", path, loan->version->label,
			  why.reason);
	return r == 0 || r == -EAGAIN;
}

void loan_take(int volume, const uint8_t uuid[16], const char *own, const struct version *version,
	       struct backing backing, struct opened_version *ret)
{
	struct loan loan = { .volume = volume,
			     .own = own,
			     .version = version,
			     .backing = backing,
			     .query.sequence = version->sequence,
			     .lent = ret };

	client_begin(&loan.query.head, CLIENT_BORROW, sizeof(loan.query));
	memcpy(loan.query.uuid, version->uuid, sizeof(loan.query.uuid));
	memcpy(loan.query.volume_uuid, uuid, sizeof(loan.query.volume_uuid));
	(void)!mount_links_each(volume, loan_try, &loan, NULL);
}
