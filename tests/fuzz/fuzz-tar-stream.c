/* SPDX-License-Identifier: MIT */
/* The stream from the process that decodes archives: the tree and the content that are taken from it are possible. */
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "datasetfs/format.h"
#include "fuzz/fuzz.h"
#include "image/xattr.h"
#include "source/archive/tar_stream.h"
#include "source/archive/tar_tree.h"
#include "source/scan.h"

struct input {
	const uint8_t *bytes;
	size_t length;
};

/* In pieces of some bytes, as from a pipe. */
static int64_t input_read(void *argument, void *to, size_t room, struct error *err)
{
	struct input *input = argument;
	size_t step = input->length < room ? input->length : room;

	(void)err;
	if (step > 1000)
		step = 1000;
	memcpy(to, input->bytes, step);
	input->bytes += step;
	input->length -= step;
	return (int64_t)step;
}

static void check_entry(const struct tar_stream *stream)
{
	const struct tar_stream_entry *entry = &stream->entry;
	const struct attributes *attributes = &entry->attributes;

	if (strlen(entry->path) > TAR_STREAM_PATH || strlen(entry->link) > TAR_STREAM_PATH ||
	    attributes->mtime_nsec > 999999999 || attributes->size > DSFS_FILE_MAX || !(attributes->mode & S_IFMT) ||
	    entry->xattrs_length > DSFS_XATTRS_MAX || !entry->xattrs != !entry->xattrs_length)
		__builtin_trap();
}

static int check_content(struct tar_stream *stream, uint64_t *position, struct error *err)
{
	uint8_t content[4096];
	uint64_t step = stream->content_left < sizeof(content) ? stream->content_left : sizeof(content);

	if (stream->offset < *position || stream->offset + stream->content_left > stream->size)
		__builtin_trap();
	*position = stream->offset + stream->content_left;
	return tar_stream_content(stream, content, step, err);
}

static int take(struct tar_stream *stream, struct tar_tree *tree, struct error *err)
{
	enum tar_stream_kind kind;
	uint64_t position = 0, number;
	int r;

	while ((r = tar_stream_next(stream, &kind, err)) > 0) {
		if (kind == TAR_STREAM_DATA)
			r = check_content(stream, &position, err);
		if (kind == TAR_STREAM_ENTRY) {
			check_entry(stream);
			position = 0;
			r = tar_tree_add(tree, &stream->entry, &number, err);
		}
		if (r < 0)
			return r;
	}
	return r;
}

static int ignore_mark(void *argument, uint64_t directory, uint32_t number, const struct listing_entry *entry,
		       struct error *err)
{
	(void)argument, (void)directory, (void)number, (void)entry, (void)err;
	return 0;
}

static int check_directory(void *argument, const struct scan_directory *directory, struct error *err)
{
	(void)argument, (void)err;
	if (!S_ISDIR(directory->listing->self.mode) || directory->parent > directory->ordinal)
		__builtin_trap();
	return 0;
}

static int check_name(void *argument, const struct scan_directory *directory, const struct scan_entry *entry,
		      struct error *err)
{
	(void)argument, (void)err;
	if (!entry->name_length || entry->name_length > DSFS_NAME_MAX || strchr(entry->name, '/') ||
	    !strcmp(entry->name, "..") || entry->ordinal <= directory->ordinal * !entry->is_link)
		__builtin_trap();
	return 0;
}

static int walk(struct tar_tree *tree, struct error *err)
{
	struct scan_setup setup = { .list = { NULL, NULL, tree->setup.temp, 65536 },
				    .lister = { tar_tree_directory, tar_tree_end, tree },
				    .sink = { ignore_mark, check_directory, check_name, NULL } };
	struct scan_counts counts;
	int r = tar_tree_sort(tree, err);

	return r < 0 ? r : scan_run(&setup, &counts, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct input input = { bytes, length };
	struct tar_stream stream = { 0 };
	struct tar_tree tree = { 0 };
	struct error err = { 0 };
	static struct temp *temp;
	static const char *const names[] = { "a.tar", "b.tar" };
	const struct tar_origin_setup archives = { names, 2, length % 2, (enum tar_duplicates)(length / 2 % 3) };
	struct tar_origin origin = { 0 };
	struct tar_tree_setup setup = { .origin = &origin };

	log_set_level(LOG_ERR);
	if (!temp && temp_open("/dev/shm", &temp, &err) < 0 && temp_open("/tmp", &temp, &err) < 0)
		return 0;
	setup.temp = temp;
	if (tar_origin_open(&origin, &archives, &err) == 0 &&
	    tar_stream_open(&stream, input_read, &input, &err) == 0 && tar_tree_open(&tree, &setup, &err) == 0 &&
	    (take(&stream, &tree, &err) < 0 || walk(&tree, &err) < 0) && !err.reason[0])
		__builtin_trap();
	tar_tree_close(&tree);
	tar_stream_close(&stream);
	tar_origin_close(&origin);
	return 0;
}
