/* SPDX-License-Identifier: MIT */
/* Looks up, reads and lists .datasetfs, with a table of its files that describe the mount. */
#include "serve/dotdir/dotdir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text/format.h"
#include "base/text/json.h"
#include "base/text/memstream.h"
#include "datasetfs/control.h"
#include "image/catalogue/version_json.h"
#include "image/meta.h"
#include "serve/clients/clients.h"
#include "serve/damage.h"
#include "serve/dotdir/describe.h"
#include "serve/dotdir/metrics.h"
#include "serve/dotdir/snapshots.h"
#include "serve/dotdir/stats.h"
#include "serve/dotdir/visits.h"
#include "serve/request/caller.h"
#include "serve/request/dirlist.h"
#include "serve/request/reply.h"
#include "serve/serve.h"

#define DOTDIR_LISTED UINT64_C(3) /* inode number in a listing of the first file of the table */

static void dotdir_meta_write(const struct index *index, struct json *json)
{
	struct meta meta;

	if (meta_load(index, &meta, NULL) < 0) {
		json_null(json, DSFS_CONTROL_META);
		return;
	}
	meta_json(&meta, json, DSFS_CONTROL_META);
	meta_free(&meta);
}

static void dotdir_version_write(struct serve *serve, struct json *json)
{
	const struct opened_version *opened = &atomic_load(&serve->generations.announced)->opened;
	char uuid[UUID_TEXT_SIZE];

	json_begin_object(json, NULL);
	version_json(&opened->version, json);
	dotdir_meta_write(opened->index, json);
	format_uuid(serve->volume.uuid, uuid);
	json_string(json, DSFS_CONTROL_VOLUME_UUID, uuid);
	json_string(json, DSFS_CONTROL_VOLUME, serve->options.volume);
	json_end_object(json);
	fputc('\n', json->out);
}

static void dotdir_damage_write(struct serve *serve, struct json *json)
{
	damage_write(serve->damage, json->out);
}

static void dotdir_metrics_write(struct serve *serve, struct json *json)
{
	metrics_write(serve, json->out);
}

/* Listings give positions in this table, which readers keep while one server follows another: none may change. */
static const struct dotdir_file {
	const char *name;
	enum snapshots_file file;
	void (*write)(struct serve *serve, struct json *json);
} dotdir_files[] = {
	{ DSFS_CONTROL_STATS, SNAPSHOTS_STATS, stats_write },
	{ DSFS_CONTROL_VERSION, SNAPSHOTS_VERSION, dotdir_version_write },
	{ DSFS_CONTROL_CLIENT, SNAPSHOTS_CLIENT, clients_write },
	{ DSFS_CONTROL_DAMAGE, SNAPSHOTS_DAMAGE, dotdir_damage_write },
	{ DSFS_CONTROL_METRICS, SNAPSHOTS_METRICS, dotdir_metrics_write },
};

#define DOTDIR_FILES (sizeof(dotdir_files) / sizeof(*dotdir_files))

static int dotdir_text(const struct dotdir_file *file, struct serve *serve, char **ret, size_t *ret_length)
{
	struct json json = { .out = memstream_open(ret, ret_length) };

	if (!json.out)
		return -ENOMEM;
	file->write(serve, &json);
	return memstream_close(json.out, ret, NULL);
}

static void dotdir_folder_attr(const struct worker *worker, uint64_t nodeid, struct fuse_attr *attr)
{
	struct inode root;
	struct error err;

	*attr = (struct fuse_attr){
		.ino = nodeid,
		.mode = S_IFDIR | 0555,
		.nlink = 2,
		.blksize = DSFS_BLOCK,
	};
	if (inode_get(serve_current(worker->serve)->opened.index, INODE_ROOT, &root, &err) == 0)
		attr->mtime = attr->ctime = attr->atime = (uint64_t)root.mtime;
}

static void dotdir_control_attr(struct fuse_attr *attr)
{
	*attr = (struct fuse_attr){
		.ino = NODE_CONTROL,
		.mode = S_IFREG | 0444,
		.nlink = 1,
		.blksize = DSFS_BLOCK,
	};
}

static void dotdir_reply_folder(struct worker *worker, struct channel_request *request, uint64_t nodeid)
{
	struct fuse_entry_out entry = {
		.nodeid = nodeid,
		.entry_valid = REPLY_FOREVER,
		.attr_valid = REPLY_FOREVER,
	};

	dotdir_folder_attr(worker, nodeid, &entry.attr);
	reply_data(worker, request, &entry, sizeof(entry));
}

void dotdir_lookup_folder(struct worker *worker, struct channel_request *request)
{
	dotdir_reply_folder(worker, request, NODE_DOTDIR);
}

static void dotdir_lookup_control(struct worker *worker, struct channel_request *request)
{
	struct fuse_entry_out entry = {
		.nodeid = NODE_CONTROL,
		.entry_valid = REPLY_FOREVER,
		.attr_valid = REPLY_FOREVER,
	};

	dotdir_control_attr(&entry.attr);
	reply_data(worker, request, &entry, sizeof(entry));
}

/* Answers with the one node of .datasetfs/client, which does not change while the mount exists: the kernel may keep the
 * name. */
static void dotdir_reply_client(struct worker *worker, struct channel_request *request, char *text, size_t length)
{
	struct fuse_entry_out entry;

	if (snapshots_keep_client(worker->serve->snapshots, text, length, &entry) < 0)
		reply_error(worker, request, -ENOMEM);
	else
		reply_data(worker, request, &entry, sizeof(entry));
}

static void dotdir_reply_catalogue(struct worker *worker, struct channel_request *request, char *text, size_t length)
{
	describe_reply(worker, request, SNAPSHOTS_CATALOGUE, text, length);
}

static void dotdir_lookup_file(struct worker *worker, struct channel_request *request)
{
	const struct dotdir_file *file = dotdir_files;
	size_t length = 0;
	char *text = NULL;
	int r;

	while (file < dotdir_files + DOTDIR_FILES && strcmp(request->wire.name, file->name))
		file++;
	r = file < dotdir_files + DOTDIR_FILES ? dotdir_text(file, worker->serve, &text, &length) : -ENOENT;
	if (r < 0)
		reply_error(worker, request, r);
	else if (file->file == SNAPSHOTS_CLIENT)
		dotdir_reply_client(worker, request, text, length);
	else
		describe_reply(worker, request, file->file, text, length);
}

void dotdir_lookup(struct worker *worker, struct channel_request *request)
{
	const char *name = request->wire.name;

	if (request->wire.nodeid == NODE_VERSIONS)
		visits_lookup(worker, request);
	else if (request->wire.nodeid != NODE_DOTDIR)
		reply_error(worker, request, -ENOTDIR);
	else if (!worker->serve->options.noversions && !strcmp(name, DSFS_CONTROL_VERSIONS))
		dotdir_reply_folder(worker, request, NODE_VERSIONS);
	else if (!strcmp(name, DSFS_CONTROL_CONTROL))
		dotdir_lookup_control(worker, request);
	else if (!strcmp(name, DSFS_CONTROL_CATALOGUE))
		visits_describe(worker, request, dotdir_reply_catalogue);
	else
		dotdir_lookup_file(worker, request);
}

/* ---- requests on files ---- */

static bool dotdir_reply_attr(struct worker *worker, struct channel_request *request, const struct snapshot *snapshot)
{
	struct fuse_attr_out out = { .attr_valid = REPLY_FOREVER };

	snapshots_attr(snapshot, &out.attr);
	return reply_data(worker, request, &out, sizeof(out));
}

static bool dotdir_reply_read(struct worker *worker, struct channel_request *request, const struct snapshot *snapshot)
{
	const struct fuse_read_in *in = &request->wire.in.read;
	size_t size = in->size < request->payload_size ? in->size : request->payload_size;

	size = snapshots_read(snapshot, in->offset, request->payload, size);
	return reply_data(worker, request, request->payload, size);
}

/* Answers LSEEK; a snapshot has no holes. */
static bool dotdir_reply_seek(struct worker *worker, struct channel_request *request, const struct snapshot *snapshot)
{
	const struct fuse_lseek_in *in = &request->wire.in.lseek;
	struct fuse_lseek_out out = { .offset = in->offset };
	uint64_t length = snapshots_length(snapshot);

	if (in->offset >= length) {
		reply_error(worker, request, -ENXIO);
		return false;
	}
	out.offset = in->whence == SEEK_HOLE ? length : in->offset;
	return reply_data(worker, request, &out, sizeof(out));
}

/* Answers from a snapshot, and gives it back. False: the kernel did not take the reply, or we do not know. */
static bool dotdir_answer(struct worker *worker, struct channel_request *request, struct snapshot *snapshot)
{
	bool taken;

	if (request->wire.opcode == FUSE_GETATTR)
		taken = dotdir_reply_attr(worker, request, snapshot);
	else if (request->wire.opcode == FUSE_READ)
		taken = dotdir_reply_read(worker, request, snapshot);
	else
		taken = dotdir_reply_seek(worker, request, snapshot);
	snapshots_put(snapshot);
	return taken;
}

/* Answers with the present text, which becomes the node's. If the kernel does not take the reply, the request was
 * answered before: the kernel may have forgotten the node since, so no FORGET would come. */
static void dotdir_answer_anew(struct worker *worker, struct channel_request *request, char *text, size_t length)
{
	struct snapshots *snapshots = worker->serve->snapshots;
	uint64_t nodeid = request->wire.nodeid;
	uint32_t user = caller_share(worker->serve, request);
	bool kept;
	struct snapshot *snapshot = snapshots_adopt(snapshots, nodeid, user, text, length, &kept);

	if (!snapshot)
		reply_error(worker, request, -ENOMEM);
	else if (!dotdir_answer(worker, request, snapshot) && kept)
		snapshots_forget(snapshots, nodeid, 1);
}

/* Answers a request on a file that was looked up at an earlier server. missing: the error if the node is no file. */
static void dotdir_adopt(struct worker *worker, struct channel_request *request, int missing)
{
	enum snapshots_file file = snapshots_file(request->wire.nodeid);
	size_t length = 0;
	char *text = NULL;
	int r = missing;

	if (file == SNAPSHOTS_CATALOGUE) {
		visits_describe(worker, request, dotdir_answer_anew);
		return;
	}
	for (size_t i = 0; i < DOTDIR_FILES; i++)
		if (dotdir_files[i].file == file)
			r = dotdir_text(&dotdir_files[i], worker->serve, &text, &length);
	if (r < 0)
		reply_error(worker, request, r);
	else
		dotdir_answer_anew(worker, request, text, length);
}

/* Answers GETATTR, READ or LSEEK. missing: the error if the node is no file. */
static void dotdir_handle(struct worker *worker, struct channel_request *request, int missing)
{
	struct snapshot *snapshot = snapshots_get(worker->serve->snapshots, request->wire.nodeid);

	if (snapshot)
		dotdir_answer(worker, request, snapshot);
	else if (worker->serve->adopts)
		dotdir_adopt(worker, request, missing);
	else
		reply_error(worker, request, missing);
}

void dotdir_getattr(struct worker *worker, struct channel_request *request)
{
	struct fuse_attr_out out = { .attr_valid = REPLY_FOREVER };
	uint64_t nodeid = request->wire.nodeid;

	if (nodeid == NODE_DOTDIR || nodeid == NODE_VERSIONS) {
		dotdir_folder_attr(worker, nodeid, &out.attr);
	} else if (nodeid == NODE_CONTROL) {
		dotdir_control_attr(&out.attr);
	} else {
		dotdir_handle(worker, request, -ESTALE);
		return;
	}
	reply_data(worker, request, &out, sizeof(out));
}

void dotdir_read(struct worker *worker, struct channel_request *request)
{
	dotdir_handle(worker, request, request->wire.nodeid == NODE_DOTDIR ? -EISDIR : -ESTALE);
}

void dotdir_seek(struct worker *worker, struct channel_request *request)
{
	dotdir_handle(worker, request, -EINVAL);
}

void dotdir_list(struct worker *worker, struct channel_request *request)
{
	struct dirlist list;
	bool room;

	if (request->wire.nodeid == NODE_VERSIONS) {
		visits_list(worker, request);
		return;
	}
	if (request->wire.nodeid != NODE_DOTDIR) {
		reply_error(worker, request, -ENOTDIR);
		return;
	}
	dirlist_begin(&list, request);
	room = dirlist_add_dots(&list, NODE_DOTDIR, NODE_ROOT);
	for (size_t i = list.first; i < DOTDIR_FILES && room; i++)
		room = dirlist_add(&list, i, DOTDIR_LISTED + i, DT_REG, span_text(dotdir_files[i].name), NULL);
	if (room && list.first <= DOTDIR_FILES)
		room = dirlist_add(&list, DOTDIR_FILES, NODE_CONTROL, DT_REG, span_text(DSFS_CONTROL_CONTROL), NULL);
	if (room && list.first <= DOTDIR_FILES + 1)
		room = dirlist_add(&list, DOTDIR_FILES + 1, DOTDIR_LISTED + DOTDIR_FILES, DT_REG,
				   span_text(DSFS_CONTROL_CATALOGUE), NULL);
	if (room && list.first <= DOTDIR_FILES + 2 && !worker->serve->options.noversions)
		(void)!dirlist_add(&list, DOTDIR_FILES + 2, NODE_VERSIONS, DT_DIR, span_text(DSFS_CONTROL_VERSIONS),
				   NULL);
	reply_data(worker, request, request->payload, list.used);
}
