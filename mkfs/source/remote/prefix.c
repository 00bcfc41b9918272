/* SPDX-License-Identifier: MIT */
/* A thread lists keys, others fetch small objects into memory, and the calling one writes them in order. A large object
 * is fetched by the calling thread when its turn comes, so that memory is bounded. */
#include "source/remote/prefix.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/thread/thread.h"
#include "base/thread/work_queue.h"
#include "datasetfs/format.h"
#include "source/filter.h"
#include "source/remote/bucket.h"
#include "source/remote/object.h"

#define PREFIX_MEMORY   (1u << 20) /* bytes of the largest object that is kept in memory */
#define PREFIX_WARNINGS 10u        /* lines about requests that are repeated */
#define PREFIX_ZEROS    65536u
#define PREFIX_SHOWN    150u       /* bytes of a key in a message */

/* An object, from its place in the listing to its place in the archive. */
struct prefix_job {
	struct keys_object object;
	uint8_t *bytes; /* NULL: it is not in memory */
	uint64_t used;  /* bytes that have come */
	int result;     /* of fetching it */
	struct error failed;
};

struct prefix {
	struct prefix_setup setup; /* a copy: after a failure the threads outlive the caller's */
	struct work_queue queue;
	struct prefix_job jobs[WORK_QUEUE_MAX];
	struct thread lister, workers[PREFIX_REQUESTS];
	struct http *http[PREFIX_REQUESTS + 1]; /* of the workers, and of the lister */
	atomic_uint workers_begun, warnings;
	int listed;                /* result of the listing */
	struct error listing_failed;
	uint64_t odd;              /* keys that are no paths */
	char odd_example[PREFIX_SHOWN];
};

/* --- objects --- */

static void prefix_warn(void *argument, const char *line)
{
	struct prefix *prefix = argument;
	const struct keys_setup *keys = &prefix->setup.keys;

	if (atomic_fetch_add(&prefix->warnings, 1) < PREFIX_WARNINGS)
		keys->warn(keys->argument, line);
}

static int prefix_changed(struct error *err)
{
	return error_set(err, -ESTALE, "it has another size than the listing says");
}

static int prefix_keep(void *argument, const void *bytes, size_t length, struct error *err)
{
	struct prefix_job *job = argument;

	if (length > job->object.size - job->used)
		return prefix_changed(err);
	memcpy(job->bytes + job->used, bytes, length);
	job->used += length;
	return 0;
}

/* Fetches the object of a job, which must be the one that was listed. */
static int prefix_fetch(struct prefix *prefix, struct http *http, const struct keys_object *object,
			const struct object_setup *how, struct error *err)
{
	const struct keys_setup *keys = &prefix->setup.keys;
	struct object_setup setup = *how;
	auto_free char *name = NULL, *url = NULL;
	int r;

	if (asprintf(&name, "%s%s", keys->source, object->key) < 0)
		return error_no_memory(err);
	r = bucket_url(keys->bucket, name, &url, err);
	setup.url = url;
	setup.name = name;
	setup.account = keys->account;
	setup.retries = keys->retries;
	setup.etag = object->etag && object->etag[0] == '"' ? object->etag : NULL;
	setup.warn = prefix_warn;
	setup.warn_argument = prefix;
	return r < 0 ? r : object_read(http, &setup, err);
}

static bool prefix_is_small(const struct prefix *prefix, const struct keys_object *object)
{
	return object->size && object->size <= PREFIX_MEMORY && !prefix->setup.no_data;
}

static void prefix_fill(struct prefix *prefix, struct http *http, struct prefix_job *job)
{
	const struct object_setup how = { .sink = prefix_keep, .argument = job };

	if (!prefix_is_small(prefix, &job->object))
		return;
	job->bytes = malloc(job->object.size);
	job->result = job->bytes ? prefix_fetch(prefix, http, &job->object, &how, &job->failed) :
				   error_no_memory(&job->failed);
}

/* --- threads --- */

static void prefix_work(void *argument)
{
	struct prefix *prefix = argument;
	struct http *http = prefix->http[atomic_fetch_add(&prefix->workers_begun, 1)];
	uint64_t number;

	while (work_queue_start(&prefix->queue, &number)) {
		prefix_fill(prefix, http, &prefix->jobs[number % WORK_QUEUE_MAX]);
		work_queue_done(&prefix->queue, number);
	}
}

/* Returns whether the key is a path that a file or folder can have: parts that are no '.', '..' or empty,
 * without zero bytes. */
static bool prefix_is_path(const struct keys_object *object)
{
	const char *part = object->key;
	size_t length;

	if (object->has_zero)
		return false;
	for (; *part; part += length + (part[length] == '/')) {
		length = strcspn(part, "/");
		if (!length || length > DSFS_NAME_MAX || (length == 1 && part[0] == '.') ||
		    (length == 2 && part[0] == '.' && part[1] == '.'))
			return false;
	}
	return part == object->key || part[-1] != '/' || !object->size;
}

/* Counts a key that is no path. */
static int prefix_leave_out(struct prefix *prefix, const struct keys_object *object, struct error *err)
{
	if (prefix->setup.refuse_odd)
		return error_set(err, -EINVAL, "the key '%.200s%.200s' cannot be the path of a file",
				 prefix->setup.keys.source, object->key);
	if (!prefix->odd++)
		snprintf(prefix->odd_example, sizeof(prefix->odd_example), "%s", object->key);
	return 0;
}

/* Returns whether the object, whose key is a path, is packed. */
static bool prefix_wants(const struct prefix *prefix, char *key)
{
	char *end = key + strlen(key) - 1;
	bool is_folder = *end == '/', is_wanted;

	if (is_folder)
		*end = 0;
	is_wanted = filter_match_all(prefix->setup.filter, key, is_folder);
	if (is_folder)
		*end = '/';
	return is_wanted;
}

static int prefix_add(void *argument, struct keys_object *object, struct error *err)
{
	struct prefix *prefix = argument;
	uint64_t number;

	if (!prefix_is_path(object))
		return prefix_leave_out(prefix, object, err);
	if (!*object->key || (prefix->setup.filter && !prefix_wants(prefix, object->key)))
		return 0; /* the folder itself, or left out */
	if (!work_queue_begin(&prefix->queue, &number))
		return error_set(err, -ECANCELED, "another object failed");
	prefix->jobs[number % WORK_QUEUE_MAX] = (struct prefix_job){ .object = *object };
	*object = (struct keys_object){ 0 };
	work_queue_submit(&prefix->queue);
	return 0;
}

static void prefix_list(void *argument)
{
	struct prefix *prefix = argument;
	struct keys_setup keys = prefix->setup.keys;

	keys.each = prefix_add;
	keys.argument = prefix;
	keys.warn = prefix_warn;
	prefix->listed = keys_list(prefix->http[PREFIX_REQUESTS], &keys, &prefix->listing_failed);
	work_queue_end(&prefix->queue);
}

/* --- the archive --- */

struct prefix_large {
	struct prefix *prefix;
	struct prefix_job *job;
};

static int prefix_pass(void *argument, const void *bytes, size_t length, struct error *err)
{
	const struct prefix_large *large = argument;
	const struct prefix_setup *setup = &large->prefix->setup;

	if (length > large->job->object.size - large->job->used)
		return prefix_changed(err);
	large->job->used += length;
	return setup->sink(setup->argument, bytes, length, err);
}

static int prefix_zeros(const struct prefix_setup *setup, struct prefix_job *job, struct error *err)
{
	static const char zeros[PREFIX_ZEROS];
	uint64_t left = job->object.size;
	int r = 0;

	for (size_t step; r == 0 && left; left -= step) {
		step = left < PREFIX_ZEROS ? (size_t)left : PREFIX_ZEROS;
		r = setup->sink(setup->argument, zeros, step, err);
	}
	job->used = job->object.size;
	return r;
}

static int prefix_content(struct prefix *prefix, struct http *http, struct prefix_job *job, struct error *err)
{
	const struct prefix_setup *setup = &prefix->setup;
	struct prefix_large large = { prefix, job };
	const struct object_setup how = { .sink = prefix_pass, .argument = &large };
	int r = 0;

	if (setup->no_data)
		r = prefix_zeros(setup, job, err);
	else if (job->bytes)
		r = setup->sink(setup->argument, job->bytes, job->used, err);
	else if (job->object.size)
		r = prefix_fetch(prefix, http, &job->object, &how, err);
	if (r == 0 && job->used != job->object.size)
		return error_set(err, -ESTALE, "cannot read '%.100s%.200s': it has another size than the listing says",
				 setup->keys.source, job->object.key);
	return r < 0 ? r : pax_pad(job->object.size, setup->sink, setup->argument, err);
}

static int prefix_write(struct prefix *prefix, struct http *http, struct prefix_job *job, struct error *err)
{
	const struct prefix_setup *setup = &prefix->setup;
	const struct pax_entry entry = { job->object.key, job->object.size, job->object.mtime };
	int r = job->result;

	if (r < 0)
		return error_pass(err, r, &job->failed);
	r = pax_begin(&entry, setup->sink, setup->argument, err);
	if (r == 0)
		r = prefix_content(prefix, http, job, err);
	keys_free(&job->object);
	free(take_ptr(&job->bytes));
	return r;
}

/* Writes the objects as they come, and says what was left out. */
static int prefix_run(struct prefix *prefix, struct http *http, struct error *err)
{
	const struct prefix_setup *setup = &prefix->setup;
	char line[400];
	uint64_t number;
	int r = 0;

	while (r == 0 && work_queue_take(&prefix->queue, &number)) {
		r = prefix_write(prefix, http, &prefix->jobs[number % WORK_QUEUE_MAX], err);
		work_queue_give_back(&prefix->queue);
	}
	if (r < 0)
		return r;
	if (prefix->listed < 0)
		return error_pass(err, prefix->listed, &prefix->listing_failed);
	if (prefix->odd) {
		snprintf(line, sizeof(line), "'%.100s': %" PRIu64 " objects have keys that cannot be paths of files, "
			 "such as '%.150s': left out", setup->keys.source, prefix->odd, prefix->odd_example);
		setup->keys.warn(setup->keys.argument, line);
	}
	return pax_end(setup->sink, setup->argument, err);
}

static int prefix_start(struct prefix *prefix, struct http *http, struct error *err)
{
	const struct thread_setup lister = { .run = prefix_list, .argument = prefix };
	const struct thread_setup worker = { .run = prefix_work, .argument = prefix };
	int r = 0;

	for (unsigned i = 0; r == 0 && i <= PREFIX_REQUESTS; i++)
		if (i < prefix->setup.requests || i == PREFIX_REQUESTS)
			r = http_copy(http, &prefix->http[i], err);
	if (r == 0)
		r = thread_start(prefix->workers, prefix->setup.requests, &worker, err);
	return r < 0 ? r : thread_start(&prefix->lister, 1, &lister, err);
}

int prefix_read(struct http *http, const struct prefix_setup *setup, struct error *err)
{
	struct prefix *prefix = calloc(1, sizeof(*prefix));
	int r;

	if (!prefix)
		return error_no_memory(err);
	prefix->setup = *setup;
	work_queue_open(&prefix->queue, WORK_QUEUE_MAX, WORK_QUEUE_MAX);
	r = prefix_start(prefix, http, err);
	if (r == 0)
		r = prefix_run(prefix, http, err);
	if (r < 0)
		return r; /* threads may use it */
	thread_join(&prefix->lister);
	thread_join_all(prefix->workers, setup->requests);
	for (unsigned i = 0; i <= PREFIX_REQUESTS; i++)
		http_close(prefix->http[i]);
	work_queue_close(&prefix->queue);
	free(prefix);
	return 0;
}
