/* SPDX-License-Identifier: MIT */
/* Decodes requests with a table of the arguments of each opcode. */
#include "fuse/wire.h"

#include <errno.h>
#include <string.h>

/* The fixed argument of an opcode and whether a name follows. Opcodes that are answered without looking at their
 * argument have size 0. */
struct wire_opcode {
	const char *name;
	uint16_t least; /* bytes that must be there */
	uint16_t size;  /* bytes that are used if they are there */
	uint8_t has_name;
};

#define WIRE_PLAIN(op)          [FUSE_##op] = { .name = #op }
#define WIRE_NAMED(op)          [FUSE_##op] = { .name = #op, .has_name = 1 }
#define WIRE_FIXED(op, type)    [FUSE_##op] = { #op, sizeof(struct type), sizeof(struct type), 0 }
#define WIRE_FIXED_NAMED(op, t) [FUSE_##op] = { #op, sizeof(struct t), sizeof(struct t), 1 }

static const struct wire_opcode wire_opcodes[WIRE_OPCODES] = {
	WIRE_NAMED(LOOKUP),
	WIRE_FIXED(FORGET, fuse_forget_in),
	WIRE_FIXED(GETATTR, fuse_getattr_in),
	WIRE_PLAIN(SETATTR),
	WIRE_PLAIN(READLINK),
	WIRE_PLAIN(SYMLINK),
	WIRE_PLAIN(MKNOD),
	WIRE_PLAIN(MKDIR),
	WIRE_PLAIN(UNLINK),
	WIRE_PLAIN(RMDIR),
	WIRE_PLAIN(RENAME),
	WIRE_PLAIN(LINK),
	WIRE_PLAIN(OPEN),
	WIRE_FIXED(READ, fuse_read_in),
	WIRE_PLAIN(WRITE),
	WIRE_PLAIN(STATFS),
	WIRE_PLAIN(RELEASE),
	WIRE_PLAIN(FSYNC),
	WIRE_PLAIN(SETXATTR),
	WIRE_FIXED_NAMED(GETXATTR, fuse_getxattr_in),
	WIRE_FIXED(LISTXATTR, fuse_getxattr_in),
	WIRE_PLAIN(REMOVEXATTR),
	WIRE_PLAIN(FLUSH),
	/* Before 7.36 the argument ended with flags. */
	[FUSE_INIT] = { "INIT", offsetof(struct fuse_init_in, flags2), sizeof(struct fuse_init_in), 0 },
	WIRE_PLAIN(OPENDIR),
	WIRE_FIXED(READDIR, fuse_read_in),
	WIRE_PLAIN(RELEASEDIR),
	WIRE_PLAIN(FSYNCDIR),
	WIRE_PLAIN(GETLK),
	WIRE_PLAIN(SETLK),
	WIRE_PLAIN(SETLKW),
	WIRE_PLAIN(ACCESS),
	WIRE_PLAIN(CREATE),
	WIRE_FIXED(INTERRUPT, fuse_interrupt_in),
	WIRE_PLAIN(BMAP),
	WIRE_PLAIN(DESTROY),
	WIRE_FIXED(IOCTL, fuse_ioctl_in),
	WIRE_PLAIN(POLL),
	WIRE_PLAIN(NOTIFY_REPLY),
	WIRE_FIXED(BATCH_FORGET, fuse_batch_forget_in),
	WIRE_PLAIN(FALLOCATE),
	WIRE_FIXED(READDIRPLUS, fuse_read_in),
	WIRE_PLAIN(RENAME2),
	WIRE_FIXED(LSEEK, fuse_lseek_in),
	WIRE_PLAIN(COPY_FILE_RANGE),
	WIRE_PLAIN(SETUPMAPPING),
	WIRE_PLAIN(REMOVEMAPPING),
	WIRE_PLAIN(SYNCFS),
	WIRE_PLAIN(TMPFILE),
	WIRE_PLAIN(STATX),
	WIRE_PLAIN(COPY_FILE_RANGE_64),
};

const char *wire_opcode_name(uint32_t opcode)
{
	if (opcode >= WIRE_OPCODES || !wire_opcodes[opcode].name)
		return "OTHER";
	return wire_opcodes[opcode].name;
}

bool wire_wants_reply(uint32_t opcode)
{
	return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET && opcode != FUSE_INTERRUPT &&
	       opcode != FUSE_NOTIFY_REPLY;
}

static int wire_name(struct request *request, struct error *err)
{
	const uint8_t *end = request->rest_length ? memchr(request->rest, 0, request->rest_length) : NULL;

	if (!end)
		return error_set(err, -EBADMSG, "%s request without a NUL after its name",
				 wire_opcode_name(request->opcode));
	if (end == request->rest)
		return error_set(err, -EBADMSG, "%s request with an empty name",
				 wire_opcode_name(request->opcode));
	request->name = (const char *)request->rest;
	request->name_length = (size_t)(end - request->rest);
	request->rest_length -= request->name_length + 1;
	request->rest = end + 1;
	return 0;
}

static int wire_argument(struct request *request, struct error *err)
{
	static const struct wire_opcode unknown;
	const struct wire_opcode *opcode =
		request->opcode < WIRE_OPCODES ? &wire_opcodes[request->opcode] : &unknown;
	size_t size = opcode->size < request->rest_length ? opcode->size : request->rest_length;

	if (request->rest_length < opcode->least)
		return error_set(err, -EBADMSG,
				 "%s request with an argument of %zu bytes, expected at least %u",
				 opcode->name, request->rest_length, opcode->least);
	if (size)
		memcpy(&request->in, request->rest, size);
	request->rest += size;
	request->rest_length -= size;
	if (opcode->has_name)
		return wire_name(request, err);
	if (request->opcode == FUSE_BATCH_FORGET &&
	    request->in.batch_forget.count > request->rest_length / sizeof(struct fuse_forget_one))
		return error_set(err, -EBADMSG, "BATCH_FORGET request for %u nodes with room for %zu",
				 request->in.batch_forget.count,
				 request->rest_length / sizeof(struct fuse_forget_one));
	return 0;
}

int wire_parse(const void *bytes, size_t length, struct request *ret, struct error *err)
{
	struct fuse_in_header header;
	struct request request = { 0 };
	int r;

	if (length < sizeof(header))
		return error_set(err, -EBADMSG, "request of %zu bytes, expected at least %zu", length,
				 sizeof(header));
	memcpy(&header, bytes, sizeof(header));
	if (header.len < sizeof(header) || header.len > length)
		return error_set(err, -EBADMSG, "request of %zu bytes says that it has %u", length,
				 header.len);
	request.opcode = header.opcode;
	request.unique = header.unique;
	request.nodeid = header.nodeid;
	request.uid = header.uid;
	request.gid = header.gid;
	request.pid = header.pid;
	request.rest = (const uint8_t *)bytes + sizeof(header);
	request.rest_length = header.len - sizeof(header);
	r = wire_argument(&request, err);
	if (r < 0)
		return r;
	*ret = request;
	return 0;
}

struct fuse_forget_one wire_forget(const struct request *request, uint32_t i)
{
	struct fuse_forget_one one;

	memcpy(&one, request->rest + (size_t)i * sizeof(one), sizeof(one));
	return one;
}

int wire_parse_uring(const struct wire_uring_header *header, struct span payload, uint8_t *bytes, size_t room,
		     struct request *ret, struct error *err)
{
	struct fuse_in_header in;
	size_t payload_size = header->payload_size, argument;

	memcpy(&in, header->in_out, sizeof(in));
	argument = in.len - sizeof(in) - payload_size;
	if (payload_size > payload.size || in.len < sizeof(in) || payload_size > in.len - sizeof(in) ||
	    argument > sizeof(header->op_in) || in.len > room)
		return error_set(err, -EBADMSG, "request of %u bytes with %zu of them as payload", in.len,
				 payload_size);
	memcpy(bytes, &in, sizeof(in));
	memcpy(bytes + sizeof(in), header->op_in, argument);
	memcpy(bytes + sizeof(in) + argument, payload.base, payload_size);
	return wire_parse(bytes, in.len, ret, err);
}
