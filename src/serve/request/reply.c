/* SPDX-License-Identifier: MIT */
/* Sends and counts replies, and translates errors that may not leave the daemon. */
#include "serve/request/reply.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"

/* Lets through the errors that a caller of the filesystem may see. Any other is the daemon's own trouble: EIO. */
static int reply_code(int code)
{
	switch (code) {
	case -ENOENT:
	case -EROFS:
	case -ENOSYS:
	case -ENOTTY:
	case -ENODATA:
	case -ERANGE:
	case -ENXIO:
	case -EINVAL:
	case -EISDIR:
	case -ENOTDIR:
	case -ENAMETOOLONG:
	case -ESTALE:
	case -ENFILE:
	case -EDQUOT:
	case -EINTR: /* only goes to a process that was killed */
	case -ENOMEM:
	case -EBUSY:
	case -EKEYREJECTED: /* of a visitor: the version is not trusted */
		return code;
	default:
		return -EIO;
	}
}

static bool reply_is_failure(int code)
{
	return code != -ENOENT && code != -EROFS && code != -ENOSYS && code != -ENOTTY && code != -ENODATA &&
	       code != -ERANGE && code != -ENXIO && code != -EINTR;
}

void reply_end(struct worker *worker, struct channel_request *request)
{
	counter_add(&worker->counters.ended, 1);
	channel_release(request);
}

void reply_error(struct worker *worker, struct channel_request *request, int code)
{
	assert(code < 0 && wire_wants_reply(request->wire.opcode));
	code = reply_code(code);
	log_debug("unique=%llu %s ino=%llu: error %d", (unsigned long long)request->wire.unique,
		  wire_opcode_name(request->wire.opcode), (unsigned long long)request->wire.nodeid, -code);
	if (reply_is_failure(code))
		counter_add(&worker->counters.errors, 1);
	channel_answer(request, code, NULL, 0);
	reply_end(worker, request);
}

void reply_fail(struct worker *worker, struct channel_request *request, int code, const struct error *err)
{
	static struct log_limit limit = { .burst = 10 };
	unsigned suppressed;

	if (code == -EBADMSG && log_allow(&limit, &suppressed))
		log_err("%s failed: %s, ino=%llu suppressed=%u", wire_opcode_name(request->wire.opcode),
			err->reason, (unsigned long long)request->wire.nodeid, suppressed);
	reply_error(worker, request, code);
}

bool reply_data(struct worker *worker, struct channel_request *request, const void *data, size_t length)
{
	bool taken;

	assert(wire_wants_reply(request->wire.opcode));
	log_debug("unique=%llu %s ino=%llu: %zu bytes", (unsigned long long)request->wire.unique,
		  wire_opcode_name(request->wire.opcode), (unsigned long long)request->wire.nodeid, length);
	taken = channel_answer(request, 0, data, length);
	reply_end(worker, request);
	return taken;
}

size_t reply_write_ioctl(struct channel_request *request, int32_t result, const void *argument, size_t size)
{
	const struct fuse_ioctl_out out = { .result = result };

	memcpy(request->payload, &out, sizeof(out));
	memcpy(request->payload + sizeof(out), argument, size);
	return sizeof(out) + size;
}

void reply_ioctl(struct worker *worker, struct channel_request *request, int32_t result, const void *argument,
		 size_t size)
{
	reply_data(worker, request, request->payload, reply_write_ioctl(request, result, argument, size));
}

void reply_leave(struct channel_request *request)
{
	atomic_store(&request->owed, 0);
	channel_release(request);
}

void reply_none(struct worker *worker, struct channel_request *request)
{
	assert(!wire_wants_reply(request->wire.opcode));
	reply_end(worker, request);
}
