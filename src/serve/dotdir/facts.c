/* SPDX-License-Identifier: MIT */
/* Fills in the structs and answers with them. */
#include "serve/dotdir/facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "datasetfs/control.h"
#include "serve/clients/clients.h"
#include "serve/request/node.h"
#include "serve/request/reply.h"
#include "serve/serve.h"

static void facts_reply(struct worker *worker, struct channel_request *request, const void *facts, size_t size)
{
	if (request->wire.in.ioctl.out_size < size)
		reply_error(worker, request, -ENOTTY);
	else
		reply_ioctl(worker, request, 0, facts, size);
}

static struct dsfs_version_facts facts_of(const struct version *version)
{
	struct dsfs_version_facts facts = {
		.sequence = version->sequence,
		.files = version->file_count,
		.bytes = version->content_bytes,
		.inodes = version->shape.inode_count,
	};

	snprintf(facts.label, sizeof(facts.label), "%s", version->label);
	memcpy(facts.uuid, version->uuid, sizeof(facts.uuid));
	memcpy(facts.digest, version->digest, sizeof(facts.digest));
	return facts;
}

void facts_version(struct worker *worker, struct channel_request *request)
{
	const struct generation *generation = atomic_load(&worker->serve->generations.announced);
	struct dsfs_version_facts facts = facts_of(&generation->opened.version);

	facts_reply(worker, request, &facts, sizeof(facts));
}

void facts_version_of(struct worker *worker, struct channel_request *request)
{
	struct error err = { 0 };
	struct generation *generation;
	struct dsfs_version_facts facts;
	struct inode inode;
	int r = node_find(worker, request->wire.nodeid, &generation, &inode, &err);

	if (r < 0) {
		reply_fail(worker, request, r, &err);
		return;
	}
	facts = facts_of(&generation->opened.version);
	facts_reply(worker, request, &facts, sizeof(facts));
}

void facts_daemon(struct worker *worker, struct channel_request *request)
{
	struct dsfs_daemon_facts facts;

	clients_tell(worker->serve->clients, &facts);
	facts_reply(worker, request, &facts, sizeof(facts));
}

bool facts_take_list(const struct channel_request *request, uint64_t *ret_after)
{
	struct dsfs_version_list list;

	if (request->wire.rest_length < sizeof(list) || request->wire.in.ioctl.out_size < sizeof(list))
		return false;
	memcpy(&list, request->wire.rest, sizeof(list));
	*ret_after = list.after;
	return true;
}

size_t facts_list(const struct catalogue *catalogue, uint64_t after, struct channel_request *request)
{
	struct dsfs_version_list list = { .after = after, .current = catalogue->current };

	for (uint32_t i = 0; i < catalogue->version_count && list.count < DSFS_VERSION_LIST_MOST; i++)
		if (catalogue->versions[i].sequence > after)
			list.versions[list.count++] = facts_of(&catalogue->versions[i]);
	return reply_write_ioctl(request, 0, &list, sizeof(list));
}
