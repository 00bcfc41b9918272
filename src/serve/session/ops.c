/* SPDX-License-Identifier: MIT */
/* The handlers of all opcodes. Requests that memory can answer at once are answered here; others are handed on. */
#include "serve/session/ops.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/program/step.h"
#include "fuse/wire.h"
#include "image/names/names.h"
#include "serve/control/command.h"
#include "serve/control/prefetch.h"
#include "serve/control/upgrade.h"
#include "serve/control/warm.h"
#include "serve/dotdir/dotdir.h"
#include "serve/dotdir/facts.h"
#include "serve/dotdir/snapshots.h"
#include "serve/dotdir/visits.h"
#include "serve/request/caller.h"
#include "serve/request/content.h"
#include "serve/request/dir.h"
#include "serve/request/node.h"
#include "serve/request/reply.h"
#include "serve/request/xattr.h"
#include "serve/serve.h"
#include "serve/successor/crash.h"

static void ops_count(struct worker *worker, uint32_t opcode)
{
	counter_add(&worker->counters.begun, 1);
	counter_add(&worker->counters.requests[opcode < WIRE_OPCODES ? opcode : WIRE_OPCODES], 1);
}

static void ops_reply_entry(struct worker *worker, struct channel_request *request,
			    struct generation *generation, const struct inode *inode)
{
	struct fuse_entry_out entry;

	node_entry(generation, generation_node_below(generation, request->wire.nodeid, inode), inode, &entry);
	/* Count it before the reply, after which the kernel may forget it. */
	atomic_fetch_add(&generation->lookups, 1);
	if (request->wire.nodeid & NODE_SIDE)
		generation_note(&generation->visited);
	if (!reply_data(worker, request, &entry, sizeof(entry)))
		generations_forget(&worker->serve->generations, generation, 1);
}

/* Answers with node 0, so that the kernel remembers the absence. */
static void ops_reply_absent(struct worker *worker, struct channel_request *request, struct generation *generation)
{
	static const struct fuse_entry_out absent = { .entry_valid = REPLY_FOREVER };

	if (request->wire.nodeid != NODE_ROOT)
		generation_note(&generation->has_absences);
	reply_data(worker, request, &absent, sizeof(absent));
}

static void ops_lookup(struct worker *worker, struct channel_request *request)
{
	struct generation *generation = generations_by_node(&worker->serve->generations, request->wire.nodeid);
	struct error err = { 0 };
	struct inode inode;
	uint64_t ordinal;
	int r;

	if (nodeid_is_dotdir_name(request->wire.nodeid, request->wire.name, request->wire.name_length)) {
		dotdir_lookup_folder(worker, request);
		return;
	}
	if (!generation)
		r = -ESTALE;
	else if (request->wire.name_length > DSFS_NAME_MAX)
		r = -ENAMETOOLONG;
	else
		r = names_lookup(generation->opened.index->names, nodeid_ordinal(request->wire.nodeid),
				 request->wire.name, request->wire.name_length, &ordinal);
	if (r == 0)
		r = inode_get(generation->opened.index, ordinal, &inode, &err);
	if (r == 0)
		ops_reply_entry(worker, request, generation, &inode);
	else if (r == -ENOENT)
		ops_reply_absent(worker, request, generation);
	else
		reply_fail(worker, request, r, &err);
}

static void ops_forget_one(struct worker *worker, uint64_t nodeid, uint64_t lookups)
{
	struct generation *generation;

	if (nodeid_is_dotdir(nodeid)) {
		snapshots_forget(worker->serve->snapshots, nodeid, lookups);
		return;
	}
	if (nodeid == NODE_ROOT)
		return;
	generation = generations_by_node(&worker->serve->generations, nodeid);
	if (generation)
		generations_forget(&worker->serve->generations, generation, lookups);
}

static void ops_forget(struct worker *worker, struct channel_request *request)
{

	ops_forget_one(worker, request->wire.nodeid, request->wire.in.forget.nlookup);
	reply_none(worker, request);
}

static void ops_batch_forget(struct worker *worker, struct channel_request *request)
{
	struct fuse_forget_one one;

	for (uint32_t i = 0; i < request->wire.in.batch_forget.count; i++) {
		one = wire_forget(&request->wire, i);
		ops_forget_one(worker, one.nodeid, one.nlookup);
	}
	reply_none(worker, request);
}

static void ops_getattr(struct worker *worker, struct channel_request *request)
{
	struct fuse_attr_out out = { .attr_valid = REPLY_FOREVER };
	struct generation *generation;
	struct error err = { 0 };
	struct inode inode;
	int r;

	r = node_find(worker, request->wire.nodeid, &generation, &inode, &err);
	if (r < 0) {
		reply_fail(worker, request, r, &err);
		return;
	}
	node_attr(generation, request->wire.nodeid, &inode, &out.attr);
	reply_data(worker, request, &out, sizeof(out));
}

static void ops_readlink(struct worker *worker, struct channel_request *request)
{
	struct generation *generation;
	struct error err = { 0 };
	struct inode inode;
	struct span target;
	int r;

	r = node_find(worker, request->wire.nodeid, &generation, &inode, &err);
	if (r == 0 && !S_ISLNK(inode.mode))
		r = -EINVAL;
	if (r == 0)
		r = inode_link_target(generation->opened.index, &inode, &target, &err);
	if (r < 0)
		reply_fail(worker, request, r, &err);
	else
		reply_data(worker, request, target.base, target.size);
}

static void ops_statfs(struct worker *worker, struct channel_request *request)
{
	const struct version *version = &serve_current(worker->serve)->opened.version;
	struct fuse_statfs_out out = {
		.st = {
			.blocks = (version->content_bytes + DSFS_BLOCK - 1) / DSFS_BLOCK,
			.files = version->shape.inode_count,
			.bsize = DSFS_BLOCK,
			.frsize = DSFS_BLOCK,
			.namelen = DSFS_NAME_MAX,
		},
	};

	reply_data(worker, request, &out, sizeof(out));
}

static void ops_lseek(struct worker *worker, struct channel_request *request)
{
	const struct fuse_lseek_in *in = &request->wire.in.lseek;
	struct generation *generation;
	struct fuse_lseek_out out;
	struct error err = { 0 };
	struct inode inode;
	int64_t r;

	r = node_find(worker, request->wire.nodeid, &generation, &inode, &err);
	if (r == 0 && (!S_ISREG(inode.mode) || (in->whence != SEEK_DATA && in->whence != SEEK_HOLE)))
		r = -EINVAL;
	if (r == 0)
		r = extent_seek(generation->opened.index, &inode, in->offset, in->whence == SEEK_HOLE, &err);
	if (r < 0) {
		reply_fail(worker, request, (int)r, &err);
		return;
	}
	out.offset = (uint64_t)r;
	reply_data(worker, request, &out, sizeof(out));
}

/* The commands of datasetfs/control.h that are not tasks of the control thread. */
static const struct ops_command {
	unsigned cmd;
	void (*answer)(struct worker *worker, struct channel_request *request);
	/* Answers a caller that has a folder of the mount alone, without the control file; NULL: it needs that file. */
	void (*answer_folder)(struct worker *worker, struct channel_request *request);
} ops_commands[] = {
	{ DSFS_IOC_PREFETCH, prefetch_ioctl, NULL },
	{ DSFS_IOC_UPGRADE, upgrade_ioctl, NULL },
	{ DSFS_IOC_WARM, warm_ioctl, NULL },
	{ DSFS_IOC_VERSION, facts_version, facts_version_of },
	{ DSFS_IOC_VERSIONS, visits_tell, visits_tell },
	{ DSFS_IOC_DAEMON, facts_daemon, facts_daemon },
	{ 0, command_ioctl, NULL },
};

static const struct ops_command *ops_find_command(unsigned cmd)
{
	const struct ops_command *command = ops_commands;

	while (command->cmd && command->cmd != cmd)
		command++;
	return command;
}

/* ENOTTY for files is common: each open() of CPython asks whether the file is a terminal. */
static void ops_ioctl(struct worker *worker, struct channel_request *request)
{
	const struct fuse_ioctl_in *in = &request->wire.in.ioctl;
	const struct ops_command *command = ops_find_command(in->cmd);

	if (request->wire.nodeid == NODE_CONTROL) {
		caller_identify(worker->serve, request);
		command->answer(worker, request);
	} else if (in->flags & FUSE_IOCTL_DIR && command->answer_folder && !nodeid_is_dotdir(request->wire.nodeid)) {
		caller_identify(worker->serve, request);
		command->answer_folder(worker, request);
	} else {
		reply_error(worker, request, -ENOTTY);
	}
}

/* Any worker may get the INTERRUPT of another worker's request. Reads past the page cache get none, see
 * request/waiting.c. */
static void ops_interrupt(struct worker *worker, struct channel_request *request)
{
	struct serve *serve = worker->serve;
	uint64_t unique = request->wire.in.interrupt.unique;
	uint32_t pid = 0;

	for (unsigned i = 0; i < serve->worker_count && !pid; i++) {
		pid = channel_waiter(serve->workers[i]->channel, unique);
		if (pid && caller_is_killed(pid) && channel_interrupt(serve->workers[i]->channel, unique))
			counter_add(&worker->counters.interrupted, 1);
	}
	reply_none(worker, request);
}

static void ops_read_only(struct worker *worker, struct channel_request *request)
{
	reply_error(worker, request, -EROFS);
}

/* After ENOSYS the kernel does not send the opcode again; OPEN, OPENDIR and FLUSH then succeed without a request. */
static void ops_unknown(struct worker *worker, struct channel_request *request)
{
	reply_error(worker, request, -ENOSYS);
}

static void ops_destroy(struct worker *worker, struct channel_request *request)
{
	reply_data(worker, request, NULL, 0);
}

/* By opcode: answers for a node, and for one below .datasetfs, where shares and rights depend on the caller; NULL: the
 * first answers for both. */
static const struct ops_handler {
	void (*answer)(struct worker *worker, struct channel_request *request);
	void (*answer_dotdir)(struct worker *worker, struct channel_request *request);
} ops_handlers[WIRE_OPCODES] = {
	[FUSE_LOOKUP] = { ops_lookup, dotdir_lookup },
	[FUSE_FORGET] = { ops_forget, NULL },
	[FUSE_BATCH_FORGET] = { ops_batch_forget, NULL },
	[FUSE_GETATTR] = { ops_getattr, dotdir_getattr },
	[FUSE_READLINK] = { ops_readlink, NULL },
	[FUSE_READ] = { content_read, dotdir_read },
	[FUSE_READDIR] = { dir_handle, dotdir_list },
	[FUSE_READDIRPLUS] = { dir_handle, dotdir_list },
	[FUSE_STATFS] = { ops_statfs, NULL },
	[FUSE_GETXATTR] = { xattr_handle, xattr_none },
	[FUSE_LISTXATTR] = { xattr_handle, xattr_none },
	[FUSE_LSEEK] = { ops_lseek, dotdir_seek },
	[FUSE_IOCTL] = { ops_ioctl, NULL },
	[FUSE_INTERRUPT] = { ops_interrupt, NULL },
	[FUSE_DESTROY] = { ops_destroy, NULL },
	[FUSE_NOTIFY_REPLY] = { reply_none, NULL },
	[FUSE_SETATTR] = { ops_read_only, NULL },
	[FUSE_SYMLINK] = { ops_read_only, NULL },
	[FUSE_MKNOD] = { ops_read_only, NULL },
	[FUSE_MKDIR] = { ops_read_only, NULL },
	[FUSE_UNLINK] = { ops_read_only, NULL },
	[FUSE_RMDIR] = { ops_read_only, NULL },
	[FUSE_RENAME] = { ops_read_only, NULL },
	[FUSE_RENAME2] = { ops_read_only, NULL },
	[FUSE_LINK] = { ops_read_only, NULL },
	[FUSE_WRITE] = { ops_read_only, NULL },
	[FUSE_SETXATTR] = { ops_read_only, NULL },
	[FUSE_REMOVEXATTR] = { ops_read_only, NULL },
	[FUSE_CREATE] = { ops_read_only, NULL },
	[FUSE_TMPFILE] = { ops_read_only, NULL },
	[FUSE_FALLOCATE] = { ops_read_only, NULL },
	[FUSE_COPY_FILE_RANGE] = { ops_read_only, NULL },
	[FUSE_COPY_FILE_RANGE_64] = { ops_read_only, NULL },
};

void ops_handle(void *context, struct channel_request *request)
{
	static const struct ops_handler unknown = { ops_unknown, NULL };
	struct worker *worker = context;
	const struct request *wire = &request->wire;
	const struct ops_handler *handler = wire->opcode < WIRE_OPCODES ? &ops_handlers[wire->opcode] : &unknown;
	bool goes_on;

	generations_enter(&worker->section);
	goes_on = crash_begin(worker->serve->recovery, worker->number, request);
	ops_count(worker, wire->opcode);
	if (goes_on)
		step(wire_opcode_name(wire->opcode));
	if (!goes_on) {
		reply_error(worker, request, -EIO);
	} else if (handler->answer_dotdir && nodeid_is_dotdir(wire->nodeid)) {
		caller_identify(worker->serve, request);
		handler->answer_dotdir(worker, request);
	} else {
		(handler->answer ? handler : &unknown)->answer(worker, request);
	}
	recovery_leave(worker->serve->recovery, worker->number);
	generations_leave(&worker->section);
}
