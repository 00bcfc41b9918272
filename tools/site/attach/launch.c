/* SPDX-License-Identifier: MIT */
/* The daemon's command line is an array from first to last: no shell or list of options ever splits what a consumer
 * said. The daemon has the lock 'starting' as its standard input, which it gives away just when it serves: so the lock
 * says so, even if the process that has started it is killed. */
#include "attach/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/departure.h"
#include "attach/state.h"
#include "base/cleanup.h"
#include "base/memory_file.h"
#include "base/program/descriptors.h"
#include "base/program/invoke.h"

#define LAUNCH_BOOTED      "/run/systemd/system" /* sd_booted(3) */
#define LAUNCH_SAID_SIZE   2000u  /* bytes kept of a child's output */
#define LAUNCH_COMMAND_MAX 65536u
#define LAUNCH_PATH_SIZE   (STATE_PATH_SIZE + 16)

/* ---- a program that may fail ---- */

/* Finds the line that says why: the last one that the program begins with its name, as warnings may come before it;
 * else the first one. Cuts the text into lines. */
static char *launch_find_line(char *text, const char *program)
{
	char *found = text, *rest = text, *line;
	size_t length = strlen(program);

	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, program, length) && !strncmp(line + length, ": ", 2))
			found = line + length + 2;
	return found;
}

/* Makes a line that the child wrote the reason, without our mountpoint, which tells people nothing:
 * "cannot mount '…' on '/run/datasetfs/attach/…/mount': why". */
static int launch_failed(const char *program, int output, struct error *err)
{
	static const char begin[] = "cannot mount '", end[] = "/" STATE_MOUNT "': ";
	char text[LAUNCH_SAID_SIZE];
	ssize_t n = pread(output, text, sizeof(text) - 1, 0);
	const char *line, *why;

	text[n > 0 ? n : 0] = 0;
	line = launch_find_line(text, program);
	why = strncmp(line, begin, strlen(begin)) ? NULL : strstr(line, end);
	if (why)
		line = why + strlen(end);
	return error_set(err, -EIO, "%s%s", *line ? "" : program, *line ? line : " failed and does not say why");
}

/* input: the standard input of the program; -1: none. */
static int launch_run(const char *const *words, int input, invoke_prepare *prepare, struct error *err)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_close int output = -1;
	int r = null < 0 ? error_errno(err, "cannot open '/dev/null'") :
			   memory_file_make("datasetfs-launch", 0, &output, err);

	if (r == 0)
		r = invoke_run(words, (struct invoke_streams){ input < 0 ? null : input, null, output }, prepare, err);
	if (r == -ECHILD) /* the parent may have set SIGCHLD to be ignored */
		return 0;
	if (r > 0 && WIFSIGNALED(r))
		return error_set(err, -EIO, "%s was killed by signal %d", words[0], WTERMSIG(r));
	return r > 0 ? launch_failed(words[0], output, err) : r;
}

/* ---- its command line ---- */

static void launch_path(const struct instance *instance, char ret[LAUNCH_PATH_SIZE])
{
	snprintf(ret, LAUNCH_PATH_SIZE, "%s/" STATE_COMMAND, instance->path);
}

static int launch_write(const struct instance *instance, const char *const *words, struct error *err)
{
	char path[LAUNCH_PATH_SIZE];
	auto_close int fd = -1;
	ssize_t size;

	launch_path(instance, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, "cannot make '%s'", path);
	for (; *words; words++) {
		size = (ssize_t)strlen(*words) + 1;
		if (write(fd, *words, (size_t)size) != size)
			return error_errno(err, "cannot write '%s'", path);
	}
	return 0;
}

int launch_prepare(const struct instance *instance, const struct key *key, struct error *err)
{
	auto_free const char **words = NULL;
	auto_free char *version = NULL;
	int r = key_command(key, instance->mount, &words, &version, err);

	return r < 0 ? r : launch_write(instance, words, err);
}

static int launch_read(const struct instance *instance, char **ret, size_t *ret_size, struct error *err)
{
	auto_free char *text = malloc(LAUNCH_COMMAND_MAX);
	char path[LAUNCH_PATH_SIZE];
	auto_close int fd = -1;
	ssize_t n;

	if (!text)
		return error_no_memory(err);
	launch_path(instance, path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, LAUNCH_COMMAND_MAX);
	if (n < 0)
		return error_errno(err, "cannot read '%s'", path);
	if (!n || (size_t)n == LAUNCH_COMMAND_MAX || text[n - 1])
		return error_set(err, -EINVAL, "'%s' holds no command line", path);
	*ret = take_ptr(&text);
	*ret_size = (size_t)n;
	return 0;
}

/* The volume is the last word but one, see key_command(). */
bool launch_is_of(const struct instance *instance, const char *volume)
{
	const char *before = "", *last = "";
	auto_free char *text = NULL;
	size_t size;

	if (launch_read(instance, &text, &size, NULL) < 0)
		return false;
	for (const char *word = text; word < text + size; word += strlen(word) + 1) {
		before = last;
		last = word;
	}
	return !strcmp(before, volume);
}

/* ---- systemd ---- */

static int launch_unit(const struct instance *instance, struct error *err)
{
	char unit[INSTANCE_UNIT_SIZE];
	const char *const words[] = { "systemctl", "start", "--", unit, NULL };
	int r;

	instance_unit(instance, unit);
	r = launch_run(words, -1, NULL, err);
	return r < 0 ? error_wrap(err, r, "'journalctl -u %s' says why", unit) : 0;
}

/* ---- a daemon of ours ---- */

/* It inherits nothing of its caller. */
static int launch_leave(struct error *err)
{
	descriptors_close_inherited(-1);
	return departure_leave(err);
}

static int launch_daemon(const struct instance *instance, const struct key *key, int starting, struct error *err)
{
	auto_free const char **words = NULL;
	auto_free char *version = NULL;
	int r = key->is_kernel ? 0 : departure_check(err);

	if (r == 0)
		r = key_command(key, instance->mount, &words, &version, err);
	return r < 0 ? r : launch_run(words, starting, launch_leave, err);
}

/* Where the kernel serves, no process stays that a unit could be for. */
int launch_start(const struct instance *instance, const struct key *key, int starting, struct error *err)
{
	return access(LAUNCH_BOOTED, F_OK) == 0 && !key->is_kernel ? launch_unit(instance, err) :
								     launch_daemon(instance, key, starting, err);
}

/* ---- in the unit ---- */

int launch_become(const char *name, struct error *err)
{
	auto_free const char **words = NULL;
	auto_free char *text = NULL;
	struct instance instance;
	size_t size = 0, count = 0;
	int r = instance_parse(name, &instance, err);

	if (r == 0)
		r = launch_read(&instance, &text, &size, err);
	if (r < 0)
		return r;
	words = calloc(size + 3, sizeof(*words));
	if (!words)
		return error_no_memory(err);
	for (char *word = text; word < text + size; word += strlen(word) + 1) {
		words[count++] = word;
		if (count == 1)
			words[count++] = "--foreground";
	}
	execvp(words[0], (char *const *)(uintptr_t)words);
	return error_errno(err, "cannot run '%s'", words[0]);
}
