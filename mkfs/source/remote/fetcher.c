/* SPDX-License-Identifier: MIT */
/* Fetches one archive after the other into a pipe. If that fails, the pipe stays open until the packer has heard why:
 * the process that decodes must not be the first to complain. */
#include "source/remote/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/archive/tar_frames.h"
#include "source/archive/tar_jail.h"
#include "source/remote/http.h"
#include "source/remote/object.h"
#include "source/remote/url.h"

#define FETCHER_PIPE 1048576 /* bytes, if the user's limit allows it */

/* The pipes that the process writes into. */
struct fetcher_ends {
	int frames, report;
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

/* Copies the URLs, and hides from ps(1) what may be secret in the originals. */
static int fetcher_copy_urls(const struct fetcher_setup *setup, char ***ret, struct error *err)
{
	char **urls = calloc(setup->count, sizeof(*urls));

	for (unsigned i = 0; urls && i < setup->count; i++) {
		if (!url_is_fetched(setup->sources[i]))
			continue;
		urls[i] = strdup(setup->sources[i]);
		if (!urls[i])
			return error_no_memory(err);
		url_cut(setup->sources[i]);
	}
	*ret = urls;
	return urls ? 0 : error_no_memory(err);
}

static int fetcher_run(const struct fetcher_setup *setup, struct fetcher_ends *ends, struct error *err)
{
	struct object_setup object = { .retries = setup->retries, .sink = fetcher_write, .warn = fetcher_warn,
				       .argument = ends };
	struct http *http;
	char **urls; /* until the process ends */
	int r = fetcher_copy_urls(setup, &urls, err);

	if (r == 0)
		r = fetcher_prepare(setup, ends, &http, err);
	for (unsigned i = 0; r == 0 && i < setup->count; i++) {
		object.url = urls[i];
		if (!object.url)
			continue;
		r = object_read(http, &object, err);
		if (r == 0)
			r = tar_frames_end(ends->frames, err);
	}
	return r;
}

static void __attribute__((noreturn)) fetcher_main(const struct fetcher_setup *setup, struct fetcher_ends *ends)
{
	struct error err = { 0 };

	if (fetcher_run(setup, ends, &err) == 0)
		_exit(EXIT_SUCCESS);
	tar_stream_say(ends->report, TAR_STREAM_FAILED, err.reason);
	for (;;)
		pause();
}

static int fetcher_fork(const struct fetcher_setup *setup, struct fetcher *ret, struct error *err)
{
	int frames[2], report[2];
	pid_t pid;

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
	if (pid == 0)
		fetcher_main(setup, &(struct fetcher_ends){ frames_out, report_out });
	ret->process = (struct tar_child){ pid, take_fd(&frames_in), take_fd(&report_in) };
	return 0;
}

int fetcher_open(const struct fetcher_setup *setup, struct fetcher *ret, struct error *err)
{
	bool is_needed = false;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < setup->count; i++)
		if (url_is_fetched(setup->sources[i])) {
			is_needed = true;
			r = url_check(setup->sources[i], err);
		}
	return r < 0 || !is_needed ? r : fetcher_fork(setup, ret, err);
}

void fetcher_close(struct fetcher *fetcher)
{
	close_fd(&fetcher->process.report);
	tar_child_close(&fetcher->process);
	*fetcher = FETCHER_NONE;
}
