/* SPDX-License-Identifier: MIT */
/* Starts the decoding process, reads from it, and reports how it ended. */
#include "source/archive/tar_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/interrupt.h"
#include "base/same.h"
#include "source/archive/tar_decode.h"
#include "source/archive/tar_jail.h"
#include "source/archive/tar_zip.h"

#define TAR_CHILD_PIPE 1048576 /* bytes, if the user's limit allows it */
#define TAR_CHILD_WAIT 200     /* milliseconds between checks for a signal that another thread took */

/* The descriptors of the archives (-1: it is fetched), the pipe, and the spool if there is one. */
struct tar_child_files {
	int *fds;
	size_t count;
};

static void tar_child_close_files(struct tar_child_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		close_fd(&files->fds[i]);
	free(files->fds);
}

/* The query of a URL, which may be a signature, is not shown. */
int tar_child_cannot_open(const char *name, struct error *err)
{
	struct rlimit limit;

	if ((errno == ENOENT || errno == ENAMETOOLONG) && strstr(name, "://"))
		return error_set(err, -ENOENT, "cannot open source '%.*s': of URLs only https://, http:// and s3:// "
				 "are read: pipe the archive into '-', as in 'gsutil cat URL | mkdatasetfs VOLUME -'",
				 (int)strcspn(name, "?#"), name);
	if (errno != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return error_errno(err, "cannot open source '%s'", name);
	return error_set(err, -EMFILE,
			 "cannot open source '%s': archives are opened all at once, and the limit of open files is "
			 "%llu: raise it with 'ulimit -n'", name, (unsigned long long)limit.rlim_cur);
}

/* Returns whether an archive before this one comes from the same pipe, or both from standard input. */
static bool tar_child_is_taken(const struct tar_child_setup *setup, const struct tar_child_files *files, size_t own)
{
	bool is_stdin = !strcmp(setup->names[own], "-"), is_taken = false;
	struct stat st;

	if (files->fds[own] < 0 || fstat(files->fds[own], &st) < 0 || (S_ISREG(st.st_mode) && !is_stdin))
		return false;
	for (size_t i = 0; !is_taken && i < own; i++)
		is_taken = (is_stdin && !strcmp(setup->names[i], "-")) ||
			   (!S_ISREG(st.st_mode) && same_fd(files->fds[i], &st));
	return is_taken;
}

static int tar_child_open_file(const char *name, struct error *err)
{
	bool is_stdin = !strcmp(name, "-");
	struct stat st;
	int fd;

	if (is_stdin && isatty(STDIN_FILENO))
		return error_set(err, -EINVAL, "standard input is a terminal, expected an archive");
	fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(name, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return tar_child_cannot_open(name, err);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return error_set(err, -EISDIR, "'%s' is a directory, expected one directory alone, or archives", name);
	}
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return fd;
}

static int tar_child_open_files(const struct tar_child_setup *setup, struct tar_child_files *files, struct error *err)
{
	descriptors_raise_limit();
	files->fds = calloc(setup->count + 2, sizeof(*files->fds));
	if (!files->fds)
		return error_no_memory(err);
	while (files->count < setup->count) {
		const char *name = setup->names[files->count];
		bool is_fetched = setup->is_fetched(name);
		int fd = is_fetched ? -1 : tar_child_open_file(name, err);

		if (fd < 0 && !is_fetched)
			return fd;
		files->fds[files->count++] = fd;
		if (tar_child_is_taken(setup, files, files->count - 1))
			return error_set(err, -EINVAL, "source '%s' is named twice, but can be read only once", name);
	}
	return 0;
}

/* The main function of the child process. files: includes the pipe. */
static void __attribute__((noreturn)) tar_child_main(const struct tar_child_setup *setup, pid_t parent,
						      struct tar_child_files *files)
{
	struct tar_decode_setup decode = { .fds = files->fds, .names = setup->names, .count = setup->count,
					   .fetched = setup->fetched, .out = files->fds[setup->count],
					   .spool = -1, .nested = setup->nested,
					   .require_end = setup->require_end, .no_data = setup->no_data,
					   .xattrs = setup->xattrs };
	bool has_spool = files->count > setup->count + 1;
	int empty = fcntl(setup->temp->fd, F_DUPFD_CLOEXEC, 0), r;
	struct error err = { 0 }, why = { 0 };
	int *kept = malloc((files->count + 2) * sizeof(*kept));

	r = tar_jail_begin(parent, &why);
	tar_jail_ignore_signals();
	tar_decode_prepare(setup->zip_charset);
	if (has_spool)
		decode.spool = files->fds[setup->count + 1];
	if (!kept || empty < 0)
		_exit(EXIT_FAILURE);
	memcpy(kept, files->fds, files->count * sizeof(*kept));
	kept[files->count] = empty;
	kept[files->count + 1] = setup->fetched;
	if (r == 0)
		r = tar_jail_close_others(kept, files->count + 2, &why);
	free(kept);
	if (r == 0)
		r = tar_jail_enter(empty, has_spool ? RLIM_INFINITY : 0, &why);
	if (r == 0)
		_exit(tar_decode_run(&decode));
	error_set(&err, r, "the process that decodes archives cannot give up its rights: %s", why.reason);
	tar_stream_say(decode.out, TAR_STREAM_FAILED, err.reason);
	_exit(EXIT_FAILURE);
}

/* Makes a spool for zip archives from a pipe, which need seeks. It is not known yet which archives are zips. */
static int tar_child_open_spool(const struct tar_child_setup *setup, struct tar_child_files *files, struct error *err)
{
	bool is_needed = false;
	int r;

	for (unsigned i = 0; i < setup->count; i++)
		is_needed |= !tar_zip_file_size(files->fds[i]);
	if (!is_needed)
		return 0;
	r = temp_file(setup->temp, &files->fds[files->count], err);
	files->count += r == 0;
	return r;
}

static int tar_child_fork(const struct tar_child_setup *setup, struct tar_child_files *files, struct tar_child *ret,
			  struct error *err)
{
	pid_t parent = getpid(), pid;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, "cannot make a pipe");
	(void)fcntl(ends[0], F_SETPIPE_SZ, TAR_CHILD_PIPE);
	files->fds[files->count++] = ends[1];
	r = tar_child_open_spool(setup, files, err);
	pid = r == 0 ? fork() : -1;
	if (pid == 0)
		tar_child_main(setup, parent, files);
	if (pid < 0) {
		close(ends[0]);
		return r < 0 ? r : error_errno(err, "cannot start a process");
	}
	*ret = (struct tar_child){ pid, ends[0], setup->report };
	return 0;
}

int tar_child_open(const struct tar_child_setup *setup, struct tar_child *ret, struct error *err)
{
	struct tar_child_files files = { 0 };
	int r = tar_child_open_files(setup, &files, err);

	if (r == 0)
		r = tar_child_fork(setup, &files, ret, err);
	tar_child_close_files(&files);
	return r;
}

/* Uses the pid safely: the child stays a zombie until tar_child_close(), so its pid cannot be reused. */
void tar_child_stop(const struct tar_child *child)
{
	if (child->pid > 0)
		kill(child->pid, SIGKILL);
}

void tar_child_close(struct tar_child *child)
{
	tar_child_stop(child);
	if (child->fd > 0)
		close(child->fd);
	while (child->pid > 0 && waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*child = (struct tar_child){ 0 };
}

static int tar_child_ended(const struct tar_child *child, struct error *err)
{
	siginfo_t how = { 0 };

	while (waitid(P_PID, (id_t)child->pid, &how, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	if (how.si_code == CLD_KILLED || how.si_code == CLD_DUMPED)
		return error_set(err, -EPIPE, "the process that decodes archives was ended by signal %d (%s)",
				 how.si_status, strsignal(how.si_status));
	return error_set(err, -EPIPE, "the process that decodes archives ended too early, with status %d",
			 how.si_status);
}

/* Passes on what the process that fetches archives says. */
static int tar_child_hear(struct tar_child *child, struct error *err)
{
	char text[TAR_STREAM_TEXT + 1];
	enum tar_stream_kind kind;
	int r = tar_stream_hear(child->report, &kind, text, err);

	if (r < 0)
		return r;
	if (r == 0)
		child->report = -1;
	else if (kind == TAR_STREAM_FAILED)
		return error_set(err, -EIO, "%s", text);
	else
		log_warn("%s", text);
	return 0;
}

int64_t tar_child_read(void *argument, void *to, size_t room, struct error *err)
{
	struct tar_child *child = argument;
	ssize_t n;
	int r;

	for (;;) {
		struct pollfd inputs[] = { { .fd = child->fd, .events = POLLIN },
					   { .fd = child->report, .events = POLLIN } };

		r = interrupt_check(err);
		if (r == 0 && poll(inputs, 2, TAR_CHILD_WAIT) > 0 && inputs[1].revents)
			r = tar_child_hear(child, err);
		if (r < 0)
			return r;
		if (!inputs[0].revents)
			continue;
		n = read(child->fd, to, room);
		if (n > 0)
			return n;
		if (n == 0)
			return tar_child_ended(child, err);
		if (errno != EINTR)
			return error_errno(err, "cannot read from the process that decodes archives");
	}
}
