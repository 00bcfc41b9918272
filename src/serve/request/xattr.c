/* SPDX-License-Identifier: MIT */
/* Encodes values and lists of names in the form that the kernel expects. */
#include "serve/request/xattr.h"

#include <errno.h>
#include <string.h>

#include "serve/request/node.h"
#include "serve/request/reply.h"

/* The answer that GETXATTR and LISTXATTR build. */
struct xattr_answer {
	const struct request *wire;
	uint8_t *out;
	size_t used, room;
	bool found;
};

static int xattr_value(void *argument, struct span name, struct span value)
{
	struct xattr_answer *answer = argument;

	if (name.size != answer->wire->name_length || memcmp(name.base, answer->wire->name, name.size) != 0)
		return 0;
	answer->found = true;
	answer->used = value.size;
	if (value.size && value.size <= answer->room)
		memcpy(answer->out, value.base, value.size);
	return 1;
}

static int xattr_name(void *argument, struct span name, struct span value)
{
	struct xattr_answer *answer = argument;

	(void)value;
	if (answer->used + name.size + 1 <= answer->room) {
		memcpy(answer->out + answer->used, name.base, name.size);
		answer->out[answer->used + name.size] = 0;
	}
	answer->used += name.size + 1;
	return 0;
}

/* A request of size 0 asks how much room is needed. */
static void xattr_reply(struct worker *worker, struct channel_request *request, const struct xattr_answer *answer)
{
	struct fuse_getxattr_out size = { .size = (uint32_t)answer->used };

	if (!request->wire.in.getxattr.size)
		reply_data(worker, request, &size, sizeof(size));
	else if (answer->used > answer->room)
		reply_error(worker, request, -ERANGE);
	else
		reply_data(worker, request, answer->out, answer->used);
}

void xattr_handle(struct worker *worker, struct channel_request *request)
{
	bool list = request->wire.opcode == FUSE_LISTXATTR;
	size_t asked = request->wire.in.getxattr.size;
	struct xattr_answer answer = {
		.wire = &request->wire,
		.out = request->payload,
		.room = asked < request->payload_size ? asked : request->payload_size,
		.found = list,
	};
	struct generation *generation;
	struct error err = { 0 };
	struct inode inode;
	int r;

	r = node_find(worker, request->wire.nodeid, &generation, &inode, &err);
	if (r == 0)
		r = inode_xattrs(generation->opened.index, &inode, list ? xattr_name : xattr_value, &answer, &err);
	if (r < 0)
		reply_fail(worker, request, r, &err);
	else if (!answer.found)
		reply_error(worker, request, -ENODATA);
	else
		xattr_reply(worker, request, &answer);
}

void xattr_none(struct worker *worker, struct channel_request *request)
{
	const struct xattr_answer none = { .wire = &request->wire, .out = request->payload };

	if (request->wire.opcode == FUSE_LISTXATTR)
		xattr_reply(worker, request, &none);
	else
		reply_error(worker, request, -ENODATA);
}
