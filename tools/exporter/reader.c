/* SPDX-License-Identifier: MIT */
/* Reads from a pipe, to which the child writes the text and then one byte with an errno. */
#include "exporter/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program/descriptors.h"
#include "datasetfs/control.h"
#include "device/dotfile.h"

/* ---- in the process ---- */

static int reader_copy(int from, int to)
{
	char buffer[16384];
	ssize_t n, written;

	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		for (ssize_t done = 0; done < n; done += written) {
			written = write(to, buffer + done, (size_t)(n - done));
			if (written < 0)
				return errno;
		}
	return n < 0 ? errno : 0;
}

/* Copies the metrics of the mount to the pipe; checks first whether another filesystem was mounted over it. */
static int reader_copy_mount(const struct mounts_entry *mount, int to)
{
	struct error err = { 0 };
	struct stat st;
	int file, r = dotfile_open(mount->point, DSFS_CONTROL_METRICS, &file, &err);

	if (r < 0)
		return -r;
	r = fstat(file, &st) < 0 ? errno : st.st_dev != mount->device ? ENOENT : reader_copy(file, to);
	/* The file stays open: closing it would ask the daemon once more, and the exit of the process closes it
	 * anyway. */
	return r;
}

/* The body of the process. It keeps only the pipe open: a process that hangs must not keep our port open. */
static _Noreturn void reader_run(const struct mounts_entry *mount, int to, pid_t parent)
{
	uint8_t code = EIO;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(to, STDIN_FILENO) >= 0 && getppid() == parent) {
		descriptors_close_inherited();
		code = (uint8_t)reader_copy_mount(mount, STDIN_FILENO);
		(void)!write(STDIN_FILENO, &code, 1);
		close(STDIN_FILENO);
	}
	_exit(0);
}

/* ---- in the exporter ---- */

static int reader_fork(struct reader *reader, const struct mounts_entry *mount, struct error *err)
{
	pid_t parent = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_errno(err, "no pipe");
	reader->process = fork();
	if (reader->process == 0)
		reader_run(mount, fds[1], parent);
	close(fds[1]);
	if (reader->process < 0) {
		close(fds[0]);
		reader->process = 0;
		return error_errno(err, "no process");
	}
	reader->pipe = fds[0];
	return 0;
}

int reader_start(struct reader *reader, const struct mounts_entry *mount, struct error *err)
{
	int r;

	*reader = (struct reader){ .pipe = -1, .text = malloc(READER_MOST + 2) };
	if (!reader->text)
		return error_no_memory(err);
	r = reader_fork(reader, mount, err);
	if (r < 0) {
		free(reader->text);
		reader->text = NULL;
	}
	return r;
}

bool reader_step(struct reader *reader)
{
	ssize_t n = read(reader->pipe, reader->text + reader->length, READER_MOST + 2 - reader->length);

	if (n > 0)
		reader->length += (size_t)n;
	return n <= 0 || reader->length == READER_MOST + 2;
}

int reader_finish(struct reader *reader)
{
	close(reader->pipe);
	reader->pipe = -1;
	if (reader->length == 0)
		return -EIO;
	if (reader->length > READER_MOST + 1)
		return -EFBIG;
	return -(int)(uint8_t)reader->text[--reader->length];
}

void reader_give_up(struct reader *reader)
{
	if (reader->pipe >= 0)
		close(reader->pipe);
	reader->pipe = -1;
	if (reader->process)
		kill(reader->process, SIGKILL);
	free(reader->text);
	reader->text = NULL;
}

bool reader_is_gone(struct reader *reader)
{
	if (reader->process && waitpid(reader->process, NULL, WNOHANG) != 0)
		reader->process = 0;
	return !reader->process;
}
