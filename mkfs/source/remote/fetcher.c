/* SPDX-License-Identifier: MIT */
/* Fetches one archive after the other into a pipe. If that fails, the pipe stays open until the packer has heard why:
 * the process that decodes must not be the first to complain. */
#include "source/remote/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/archive/tar_frames.h"
#include "source/archive/tar_jail.h"
#include "source/remote/bucket.h"
#include "source/remote/credentials.h"
#include "source/remote/http.h"
#include "source/remote/object.h"
#include "source/remote/prefix.h"
#include "source/remote/url.h"

#define FETCHER_PIPE   1048576 /* bytes, if the user's limit allows it */
#define FETCHER_REGION "us-east-1"

/* The pipes that the process writes into. */
struct fetcher_ends {
	int frames, report;
};

/* The object store. */
struct fetcher_store {
	struct bucket_setup bucket;
	struct http_account account;
};

static int fetcher_write(void *argument, const void *bytes, size_t length, struct error *err)
{
	const struct fetcher_ends *ends = argument;

	return tar_frames_write(ends->frames, bytes, length, err);
}

static void fetcher_warn(void *argument, const char *line)
{
	const struct fetcher_ends *ends = argument;

	tar_stream_say(ends->report, TAR_STREAM_WARNING, line);
}

/* Loads what the process needs, and gives up the rest: other files, privileges, and the terminal. */
static int fetcher_prepare(const struct fetcher_setup *setup, const struct fetcher_ends *ends, struct http **ret,
			   struct error *err)
{
	const struct http_setup http = { setup->ca_file, setup->timeout };
	const int kept[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, ends->frames, ends->report };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), r;

	tar_jail_ignore_signals();
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		return error_errno(err, "cannot open '/dev/null'");
	r = tar_jail_close_others(kept, sizeof(kept) / sizeof(*kept), err);
	if (r == 0)
		r = http_open(&http, ret, err);
	return r < 0 ? r : tar_jail_drop_privileges(err);
}

/* --- the sources --- */

/* Returns a setting of the environment, or NULL. */
static const char *fetcher_variable(const char *name, const char *other)
{
	const char *value = getenv(name);

	if (!value || !*value)
		value = getenv(other);
	return value && *value ? value : NULL;
}

/* Finds out where the object store is and who asks. All strings live until the process ends. */
static int fetcher_find_store(const struct fetcher_setup *setup, struct fetcher_store *ret, struct error *err)
{
	struct credentials credentials;
	char *user = NULL;
	int r = credentials_find(&credentials, err);

	if (r < 0)
		return r;
	ret->bucket.endpoint = setup->endpoint;
	if (!setup->endpoint)
		ret->bucket.endpoint = fetcher_variable("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
	ret->bucket.region = setup->region ? setup->region : credentials.region ? credentials.region : FETCHER_REGION;
	if (credentials.key && asprintf(&user, "%s:%s", credentials.key, credentials.secret) < 0)
		return error_no_memory(err);
	ret->account = (struct http_account){ ret->bucket.region, user, credentials.token };
	r = bucket_check_region(ret->bucket.region, err);
	return r < 0 || !ret->bucket.endpoint ? r : bucket_check_endpoint(ret->bucket.endpoint, err);
}

/* Finds the store when the first source is in one. */
static int fetcher_bucket_url(const struct fetcher_setup *setup, struct fetcher_store *store, const char *source,
			      char **ret, struct error *err)
{
	int r = store->account.region ? 0 : fetcher_find_store(setup, store, err);

	return r < 0 ? r : bucket_url(&store->bucket, source, ret, err);
}

/* Makes the URLs of requests; NULL: the source is not fetched. */
static int fetcher_make_urls(const struct fetcher_setup *setup, struct fetcher_store *store, char ***ret,
			     struct error *err)
{
	char **urls = calloc(setup->count, sizeof(*urls));
	int r = urls ? 0 : error_no_memory(err);

	for (unsigned i = 0; r == 0 && i < setup->count; i++) {
		const char *source = setup->sources[i];

		if (bucket_is_named(source)) {
			r = fetcher_bucket_url(setup, store, source, &urls[i], err);
		} else if (url_is_fetched(source)) {
			urls[i] = strdup(source);
			r = urls[i] ? 0 : error_no_memory(err);
		}
	}
	*ret = urls;
	return r;
}

/* --- the process --- */

/* Reads all objects below a prefix; object has what is common to all of them. */
static int fetcher_read_prefix(const struct fetcher_setup *setup, const struct fetcher_store *store, struct http *http,
			       const struct object_setup *object, struct error *err)
{
	const struct prefix_setup prefix = {
		.keys = { .bucket = &store->bucket, .account = &store->account, .source = object->name,
			  .retries = setup->retries, .warn = object->warn, .argument = object->warn_argument },
		.requests = setup->requests, .filter = setup->filter, .no_data = setup->no_data,
		.refuse_odd = setup->refuse_odd,
		.sink = object->sink, .argument = object->argument,
	};

	return prefix_read(http, &prefix, err);
}

/* store: threads may use it when this has failed. */
static int fetcher_run(const struct fetcher_setup *setup, struct fetcher_ends *ends, struct fetcher_store *store,
		       struct error *err)
{
	struct object_setup object = { .retries = setup->retries, .sink = fetcher_write, .argument = ends,
				       .warn = fetcher_warn, .warn_argument = ends };
	struct http *http;
	char **urls; /* until the process ends */
	int r = fetcher_make_urls(setup, store, &urls, err);

	fetcher_forget(setup->sources, setup->count);
	if (r == 0)
		r = fetcher_prepare(setup, ends, &http, err);
	for (unsigned i = 0; r == 0 && i < setup->count; i++) {
		if (!urls[i])
			continue;
		object.url = urls[i];
		object.name = setup->sources[i];
		object.account = bucket_is_named(object.name) ? &store->account : NULL;
		r = object.account && bucket_is_prefix(object.name) ?
			fetcher_read_prefix(setup, store, http, &object, err) : object_read(http, &object, err);
		if (r == 0)
			r = tar_frames_end(ends->frames, err);
	}
	return r;
}

static void __attribute__((noreturn)) fetcher_main(const struct fetcher_setup *setup, pid_t parent,
						    struct fetcher_ends *ends)
{
	struct pollfd closed = { .fd = ends->report }; /* by the packer, which is POLLERR */
	struct fetcher_store store = { 0 };
	struct error err = { 0 };

	if (tar_jail_begin(parent, &err) == 0 && fetcher_run(setup, ends, &store, &err) == 0)
		_exit(EXIT_SUCCESS);
	tar_stream_say(ends->report, TAR_STREAM_FAILED, err.reason);
	while (poll(&closed, 1, -1) < 0 && errno == EINTR)
		;
	_exit(EXIT_FAILURE);
}

static int fetcher_fork(const struct fetcher_setup *setup, struct fetcher *ret, struct error *err)
{
	int frames[2], report[2];
	pid_t parent = getpid(), pid;

	if (pipe2(frames, O_CLOEXEC) < 0)
		return error_errno(err, "cannot make a pipe");
	auto_close int frames_in = frames[0], frames_out = frames[1];
	if (pipe2(report, O_CLOEXEC) < 0)
		return error_errno(err, "cannot make a pipe");
	auto_close int report_in = report[0], report_out = report[1];
	(void)fcntl(frames_out, F_SETPIPE_SZ, FETCHER_PIPE);
	pid = fork();
	if (pid < 0)
		return error_errno(err, "cannot start a process");
	if (pid == 0) {
		close_fd(&frames_in);
		close_fd(&report_in);
		fetcher_main(setup, parent, &(struct fetcher_ends){ frames_out, report_out });
	}
	ret->process = (struct tar_child){ pid, take_fd(&frames_in), take_fd(&report_in) };
	return 0;
}

int fetcher_open(const struct fetcher_setup *setup, struct fetcher *ret, struct error *err)
{
	bool is_needed = false;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < setup->count; i++) {
		const char *source = setup->sources[i];

		is_needed |= fetcher_fetches(source);
		r = bucket_is_named(source) ? bucket_check(source, err) :
		    url_is_fetched(source)  ? url_check(source, err) : 0;
	}
	return r < 0 || !is_needed ? r : fetcher_fork(setup, ret, err);
}

bool fetcher_fetches(const char *source)
{
	return url_is_fetched(source) || bucket_is_named(source);
}

void fetcher_forget(char *const *sources, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (url_is_fetched(sources[i]))
			url_cut(sources[i]);
	credentials_forget();
}

void fetcher_close(struct fetcher *fetcher)
{
	close_fd(&fetcher->process.report);
	tar_child_close(&fetcher->process);
	*fetcher = FETCHER_NONE;
}
