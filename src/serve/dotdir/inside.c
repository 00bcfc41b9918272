/* SPDX-License-Identifier: MIT */
/* The files that tell about the mount, and the table of their live snapshots. */
#include "serve/dotdir/inside.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/format.h"
#include "base/json.h"
#include "base/log.h"
#include "base/parse.h"
#include "datasetfs/control.h"
#include "serve/dotdir/stats.h"
#include "serve/dotdir/visits.h"
#include "serve/request/caller.h"
#include "serve/request/dir.h"
#include "serve/request/reply.h"
#include "serve/serve.h"

#define INSIDE_LISTED    UINT64_C(3)   /* inode numbers in the listing: 3 + number of the file */
#define INSIDE_SNAPSHOTS 1024u /* live at once: each open one holds its text */
#define INSIDE_OF_USER   256u  /* one user's */
#define INSIDE_OF_USERS  960u  /* all users'; the rest is for those who may switch the mount, as status and switch need them */

struct snapshot {
	uint64_t nodeid; /* NODE_SNAPSHOT + count * INSIDE_SNAPSHOTS + slot; 0: free */
	uint64_t lookups;
	uint32_t uid; /* who looked it up */
	struct timespec when;
	char *text;
	size_t length;
};

struct inside {
	pthread_mutex_t lock; /* all below */
	uint64_t made;
	struct snapshot snapshots[INSIDE_SNAPSHOTS];
};

static void inside_version_write(struct serve *serve, struct json *json)
{
	const struct version *version = &atomic_load(&serve->generations.announced)->version;
	char uuid[UUID_TEXT_SIZE], digest[8 + 64] = "sha256:";

	json_begin_object(json, NULL);
	json_string(json, CONTROL_LABEL, version->label);
	format_uuid(version->uuid, uuid);
	json_string(json, CONTROL_UUID, uuid);
	format_hex(version->digest, sizeof(version->digest), digest + 7);
	json_string(json, CONTROL_DIGEST, digest);
	json_number(json, CONTROL_SEQUENCE, version->sequence);
	format_uuid(serve->volume_uuid, uuid);
	json_string(json, CONTROL_VOLUME_UUID, uuid);
	json_string(json, CONTROL_VOLUME, serve->options.volume);
	json_number(json, CONTROL_FILES, version->file_count);
	json_number(json, CONTROL_BYTES, version->content_bytes);
	json_end_object(json);
	fputc('\n', json->out);
}

static const struct inside_file {
	const char *name;
	void (*write)(struct serve *serve, struct json *json);
} inside_files[] = {
	{ CONTROL_STATS, stats_write },
	{ CONTROL_VERSION, inside_version_write },
};

#define INSIDE_FILES (sizeof(inside_files) / sizeof(*inside_files))

static int inside_text(const struct inside_file *file, struct serve *serve, char **ret, size_t *ret_length)
{
	char *text = NULL;
	size_t length = 0;
	struct json json = { .out = open_memstream(&text, &length) };

	if (!json.out)
		return -ENOMEM;
	file->write(serve, &json);
	if (fclose(json.out) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	*ret_length = length;
	return 0;
}

int inside_new(struct inside **ret, struct error *err)
{
	struct inside *inside = calloc(1, sizeof(*inside));

	if (!inside)
		return error_set(err, -ENOMEM, "no memory for " CONTROL_FOLDER);
	pthread_mutex_init(&inside->lock, NULL);
	*ret = inside;
	return 0;
}

void inside_free(struct inside *inside)
{
	if (!inside)
		return;
	for (size_t i = 0; i < INSIDE_SNAPSHOTS; i++)
		free(inside->snapshots[i].text);
	pthread_mutex_destroy(&inside->lock);
	free(inside);
}

/* Under the lock. */
static struct snapshot *inside_find(struct inside *inside, uint64_t nodeid)
{
	struct snapshot *snapshot;

	if (nodeid < NODE_SNAPSHOT)
		return NULL;
	snapshot = &inside->snapshots[nodeid % INSIDE_SNAPSHOTS];
	return snapshot->nodeid == nodeid ? snapshot : NULL;
}

static void inside_folder_attr(const struct worker *worker, uint64_t nodeid, struct fuse_attr *attr)
{
	struct inode root;
	struct error err;

	*attr = (struct fuse_attr){
		.ino = nodeid,
		.mode = S_IFDIR | 0555,
		.nlink = 2,
		.blksize = DSFS_BLOCK,
	};
	if (inode_get(serve_current(worker->serve)->index, INODE_ROOT, &root, &err) == 0)
		attr->mtime = attr->ctime = attr->atime = (uint64_t)root.mtime;
}

static void inside_control_attr(struct fuse_attr *attr)
{
	*attr = (struct fuse_attr){
		.ino = NODE_CONTROL,
		.mode = S_IFREG | 0444,
		.nlink = 1,
		.blksize = DSFS_BLOCK,
	};
}

static void inside_snapshot_attr(const struct snapshot *snapshot, struct fuse_attr *attr)
{
	uint64_t seconds = (uint64_t)snapshot->when.tv_sec;
	uint32_t nanoseconds = (uint32_t)snapshot->when.tv_nsec;

	*attr = (struct fuse_attr){
		.ino = snapshot->nodeid,
		.size = snapshot->length,
		.mtime = seconds,
		.ctime = seconds,
		.atime = seconds,
		.mtimensec = nanoseconds,
		.ctimensec = nanoseconds,
		.atimensec = nanoseconds,
		.mode = S_IFREG | 0444,
		.nlink = 1,
		.blksize = DSFS_BLOCK,
	};
}

static void inside_reply_folder(struct worker *worker, struct channel_request *request, uint64_t nodeid)
{
	struct fuse_entry_out entry = {
		.nodeid = nodeid,
		.entry_valid = REPLY_FOREVER,
		.attr_valid = REPLY_FOREVER,
	};

	inside_folder_attr(worker, nodeid, &entry.attr);
	reply_data(worker, request, &entry, sizeof(entry));
}

void inside_lookup_folder(struct worker *worker, struct channel_request *request)
{
	inside_reply_folder(worker, request, NODE_DOTDIR);
}

/* A free one, as far as this user may have one more. Under the lock. */
static int inside_find_free(struct inside *inside, uint32_t uid, bool may_switch, struct snapshot **ret)
{
	struct snapshot *snapshot, *free = NULL;
	unsigned own = 0, all = 0;

	for (size_t i = 0; i < INSIDE_SNAPSHOTS; i++) {
		snapshot = &inside->snapshots[i];
		all += snapshot->nodeid != 0;
		own += snapshot->nodeid && snapshot->uid == uid;
		if (!snapshot->nodeid && !free)
			free = snapshot;
	}
	if (!may_switch && own >= INSIDE_OF_USER)
		return -EDQUOT;
	if (!free || (!may_switch && all >= INSIDE_OF_USERS))
		return -ENFILE;
	*ret = free;
	return 0;
}

/* Takes the text, if it returns 0. -EDQUOT and -ENFILE when too many snapshots are held open. */
static int inside_keep(struct inside *inside, uint32_t uid, bool may_switch, char *text, size_t length,
		       struct fuse_entry_out *ret)
{
	struct snapshot *snapshot;
	int r;

	pthread_mutex_lock(&inside->lock);
	r = inside_find_free(inside, uid, may_switch, &snapshot);
	if (r == 0) {
		snapshot->nodeid =
			NODE_SNAPSHOT + inside->made++ * INSIDE_SNAPSHOTS + (uint64_t)(snapshot - inside->snapshots);
		snapshot->lookups = 1;
		snapshot->uid = uid;
		clock_gettime(CLOCK_REALTIME, &snapshot->when);
		snapshot->text = text;
		snapshot->length = length;
		*ret = (struct fuse_entry_out){ .nodeid = snapshot->nodeid, .attr_valid = REPLY_FOREVER };
		inside_snapshot_attr(snapshot, &ret->attr);
	}
	pthread_mutex_unlock(&inside->lock);
	return r;
}

static int inside_keep_for(struct worker *worker, const struct channel_request *request, char *text, size_t length,
			   struct fuse_entry_out *ret)
{
	static struct log_limit limit = { .burst = 5 };
	uint32_t uid = request->wire.uid;
	struct error ignored;
	unsigned held;
	int r = inside_keep(worker->serve->inside, uid, false, text, length, ret);

	if (r < 0 && caller_check(worker->serve, request, &ignored) == 0)
		r = inside_keep(worker->serve->inside, uid, true, text, length, ret);
	if (r == -EDQUOT && log_allow(&limit, &held))
		log_warn("user %u holds %u files of '" CONTROL_FOLDER "' open, no more are opened for him, held=%u",
			 (unsigned)uid, INSIDE_OF_USER, held);
	else if (r == -ENFILE && log_allow(&limit, &held))
		log_warn("all users hold %u files of '" CONTROL_FOLDER "' open, no more are opened for them, held=%u",
			 INSIDE_OF_USERS, held);
	if (r < 0)
		free(text);
	return r;
}

static void inside_lookup_control(struct worker *worker, struct channel_request *request)
{
	struct fuse_entry_out entry = {
		.nodeid = NODE_CONTROL,
		.entry_valid = REPLY_FOREVER,
		.attr_valid = REPLY_FOREVER,
	};

	inside_control_attr(&entry.attr);
	reply_data(worker, request, &entry, sizeof(entry));
}

void inside_lookup(struct worker *worker, struct channel_request *request)
{
	struct fuse_entry_out entry;
	size_t length = 0;
	char *text = NULL;
	int r = -ENOENT;

	if (request->wire.nodeid == NODE_VERSIONS) {
		visits_lookup(worker, request);
		return;
	}
	if (request->wire.nodeid != NODE_DOTDIR)
		r = -ENOTDIR;
	if (r == -ENOENT && !worker->serve->options.noversions && !strcmp(request->wire.name, CONTROL_VERSIONS)) {
		inside_reply_folder(worker, request, NODE_VERSIONS);
		return;
	}
	if (r == -ENOENT && !strcmp(request->wire.name, CONTROL_CONTROL)) {
		inside_lookup_control(worker, request);
		return;
	}
	for (size_t i = 0; i < INSIDE_FILES && r == -ENOENT; i++)
		if (!strcmp(request->wire.name, inside_files[i].name))
			r = inside_text(&inside_files[i], worker->serve, &text, &length);
	if (r == 0)
		r = inside_keep_for(worker, request, text, length, &entry);
	if (r < 0)
		reply_error(worker, request, r);
	else if (!reply_data(worker, request, &entry, sizeof(entry)))
		inside_forget(worker, entry.nodeid, 1);
}

void inside_getattr(struct worker *worker, struct channel_request *request)
{
	struct inside *inside = worker->serve->inside;
	struct fuse_attr_out out = { .attr_valid = REPLY_FOREVER };
	const struct snapshot *snapshot;
	bool known = true;

	if (request->wire.nodeid == NODE_DOTDIR || request->wire.nodeid == NODE_VERSIONS) {
		inside_folder_attr(worker, request->wire.nodeid, &out.attr);
	} else if (request->wire.nodeid == NODE_CONTROL) {
		inside_control_attr(&out.attr);
	} else {
		pthread_mutex_lock(&inside->lock);
		snapshot = inside_find(inside, request->wire.nodeid);
		if (snapshot)
			inside_snapshot_attr(snapshot, &out.attr);
		known = snapshot != NULL;
		pthread_mutex_unlock(&inside->lock);
	}
	if (known)
		reply_data(worker, request, &out, sizeof(out));
	else
		reply_error(worker, request, -ESTALE);
}

void inside_read(struct worker *worker, struct channel_request *request)
{
	const struct fuse_read_in *in = &request->wire.in.read;
	struct inside *inside = worker->serve->inside;
	const struct snapshot *snapshot;
	size_t size = in->size < request->payload_size ? in->size : request->payload_size;
	int r = request->wire.nodeid == NODE_DOTDIR ? -EISDIR : 0;

	pthread_mutex_lock(&inside->lock);
	snapshot = inside_find(inside, request->wire.nodeid);
	if (!snapshot) {
		r = r ? r : -ESTALE;
	} else if (in->offset >= snapshot->length) {
		size = 0;
	} else {
		size = size < snapshot->length - in->offset ? size : snapshot->length - in->offset;
		memcpy(request->payload, snapshot->text + in->offset, size);
	}
	pthread_mutex_unlock(&inside->lock);
	if (r < 0)
		reply_error(worker, request, r);
	else
		reply_data(worker, request, request->payload, size);
}

/* All of a snapshot is data. */
void inside_seek(struct worker *worker, struct channel_request *request)
{
	const struct fuse_lseek_in *in = &request->wire.in.lseek;
	struct inside *inside = worker->serve->inside;
	struct fuse_lseek_out out = { .offset = in->offset };
	const struct snapshot *snapshot;
	int r = 0;

	pthread_mutex_lock(&inside->lock);
	snapshot = inside_find(inside, request->wire.nodeid);
	if (!snapshot)
		r = -EINVAL;
	else if (in->offset >= snapshot->length)
		r = -ENXIO;
	else if (in->whence == SEEK_HOLE)
		out.offset = snapshot->length;
	pthread_mutex_unlock(&inside->lock);
	if (r < 0)
		reply_error(worker, request, r);
	else
		reply_data(worker, request, &out, sizeof(out));
}

void inside_list(struct worker *worker, struct channel_request *request)
{
	struct dir_list list;
	bool room;

	if (request->wire.nodeid == NODE_VERSIONS) {
		visits_list(worker, request);
		return;
	}
	if (request->wire.nodeid != NODE_DOTDIR) {
		reply_error(worker, request, -ENOTDIR);
		return;
	}
	dir_begin(&list, request);
	room = dir_add_dots(&list, NODE_DOTDIR, NODE_ROOT);
	for (size_t i = list.first; i < INSIDE_FILES && room; i++)
		room = dir_add(&list, i, INSIDE_LISTED + i, DT_REG, inside_files[i].name,
			       strlen(inside_files[i].name), NULL);
	if (room && list.first <= INSIDE_FILES)
		room = dir_add(&list, INSIDE_FILES, NODE_CONTROL, DT_REG, CONTROL_CONTROL, strlen(CONTROL_CONTROL), NULL);
	if (room && list.first <= INSIDE_FILES + 1 && !worker->serve->options.noversions)
		(void)!dir_add(&list, INSIDE_FILES + 1, NODE_VERSIONS, DT_DIR, CONTROL_VERSIONS,
			       strlen(CONTROL_VERSIONS), NULL);
	reply_data(worker, request, request->payload, list.used);
}

void inside_forget(struct worker *worker, uint64_t nodeid, uint64_t lookups)
{
	struct inside *inside = worker->serve->inside;
	struct snapshot *snapshot;

	pthread_mutex_lock(&inside->lock);
	snapshot = inside_find(inside, nodeid);
	if (snapshot) {
		snapshot->lookups -= lookups < snapshot->lookups ? lookups : snapshot->lookups;
		if (!snapshot->lookups) {
			free(snapshot->text);
			*snapshot = (struct snapshot){ 0 };
		}
	}
	pthread_mutex_unlock(&inside->lock);
}
