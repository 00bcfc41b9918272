/* SPDX-License-Identifier: MIT */
/* datasetfs-run: executes a program with libdatasetfs-preload.so preloaded. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program/options.h"
#include "base/program/output.h"
#include "run/preloadable.h"

/* Exit statuses as those of env(1): ours must not look like the program's. */
enum { RUN_FAILED = 125, RUN_CANNOT = 126, RUN_NOT_FOUND = 127 };

#define RUN_TO_STDERR "stderr"

struct run_options {
	bool compat;
	const char *report; /* NULL: as the environment says */
};

static int run_set_report(void *target, const char *argument, struct error *err)
{
	if (argument && !*argument)
		return error_set(err, -EINVAL, "the name of the file is empty");
	((struct run_options *)target)->report = argument ? argument : RUN_TO_STDERR;
	return 0;
}

static const struct option_spec run_table[] = {
	{ "compat", 0, NULL, OPTION_TRUE(struct run_options, compat), "give real descriptors: slower, and safest" },
	{ "report", 0, "[=FILE]", OPTION_CALL(run_set_report), "say what each process did, to stderr or FILE" },
	{ 0 },
};

static const struct command_line run_line = {
	.program = "datasetfs-run",
	.usage = "[--compat] [--report[=FILE]] [--] PROGRAM [ARGUMENT...]",
	.summary = "Run a program that reads files of datasetfs mounts past the kernel's filesystem.\n"
		   "Works for dynamically linked programs; others read the mount as ever.",
	.options = run_table,
	.operands_end_options = true,
};

/* --- the library --------------------------------------------------------------------------------- */

/* Place of the library in a build. This path and RUN_LIBRARY are relative to our own folder, because an installation
 * may be moved, and a build runs in place. */
#define RUN_LIBRARY_BUILT "../src/preload/libdatasetfs-preload.so"

/* Returns whether the library is there. ret_path: its real path, or the path where it should be. */
static bool run_is_library(const char *folder, const char *library, char ret_path[PATH_MAX])
{
	bool absolute = *library == '/';
	char found[PATH_MAX];
	int length = snprintf(ret_path, PATH_MAX, "%s%s%s", absolute ? "" : folder, absolute ? "" : "/", library);

	if (length >= PATH_MAX || access(ret_path, R_OK) != 0 || !realpath(ret_path, found))
		return false;
	memcpy(ret_path, found, sizeof(found));
	return true;
}

static int run_find_library(char ret_path[PATH_MAX], struct error *err)
{
	char own[PATH_MAX], built[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (length < 0)
		return error_errno(err, "cannot tell where the library lies: '/proc/self/exe'");
	own[length] = 0;
	*strrchr(own, '/') = 0;
	if (!run_is_library(own, RUN_LIBRARY, ret_path)) {
		if (!run_is_library(own, RUN_LIBRARY_BUILT, built))
			return error_set(err, -ENOENT, "no library '%s': install datasetfs as a whole", ret_path);
		memcpy(ret_path, built, sizeof(built));
	}
	if (ret_path[strcspn(ret_path, " :")])
		return error_set(
			err, -EINVAL,
			"library '%s': LD_PRELOAD cannot name it, as blanks and colons end a name there; install "
			"datasetfs elsewhere",
			ret_path);
	return 0;
}

/* --- the environment ----------------------------------------------------------------------------- */

/* Returns whether this LD_PRELOAD names the library, as in a program that datasetfs-run started. */
static bool run_has_library(const char *preload, const char *library)
{
	for (; *preload; preload += strspn(preload, " :")) {
		size_t length = strcspn(preload, " :");

		if (length == strlen(library) && memcmp(preload, library, length) == 0)
			return true;
		preload += length;
	}
	return false;
}

static int run_set(const char *name, const char *value, struct error *err)
{
	return setenv(name, value, 1) == 0 ? 0 : error_errno(err, "environment variable '%s'", name);
}

static int run_set_preload(const char *library, struct error *err)
{
	const char *before = getenv("LD_PRELOAD");
	char *value;
	int r;

	if (before && run_has_library(before, library))
		return 0;
	if (asprintf(&value, "%s%s%s", library, before && *before ? ":" : "", before ?: "") < 0)
		return error_no_memory(err);
	r = run_set("LD_PRELOAD", value, err);
	free(value);
	return r;
}

/* Makes the report's file. The name is resolved here, in the caller's directory, and a failure comes before the program
 * runs. */
static int run_set_file(const char *file, struct error *err)
{
	char path[PATH_MAX];
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0)
		return error_errno(err, "cannot write the report '%s'", file);
	close(fd);
	if (!realpath(file, path))
		return error_errno(err, "the report '%s'", file);
	return run_set("DATASETFS_REPORT", path, err);
}

static int run_prepare(const struct run_options *options, struct error *err)
{
	char library[PATH_MAX];
	int r = run_find_library(library, err);

	if (r == 0)
		r = run_set_preload(library, err);
	if (r == 0 && options->compat)
		r = run_set("DATASETFS_RUN", "compat", err);
	if (r == 0 && options->report)
		r = strcmp(options->report, RUN_TO_STDERR) ? run_set_file(options->report, err) :
							     run_set("DATASETFS_REPORT", RUN_TO_STDERR, err);
	return r;
}

/* --- the program --------------------------------------------------------------------------------- */

static void run_warn(const char *program)
{
	char path[PATH_MAX], about[PATH_MAX];
	const char *why = preloadable_find(program, path) ? preloadable_obstacle(path, about) : NULL;

	if (why)
		log_warn("'%s' %s; no report will come of it", about, why);
}

static int run_program(char **argv)
{
	char path[PATH_MAX];
	int code;

	execvp(argv[0], argv);
	code = errno;
	if (code != ENOENT)
		log_err("cannot run '%s': %s", argv[0], strerror(code));
	else if (preloadable_find(argv[0], path))
		log_err("cannot run '%s': there is no interpreter or loader as it names", path);
	else
		log_err("no program '%s'%s", argv[0], strchr(argv[0], '/') ? "" : " in PATH");
	return code == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT;
}

int main(int argc, char **argv)
{
	struct run_options options = { 0 };
	struct error err = { 0 };
	int operands;
	bool done;

	log_set_program("datasetfs-run");
	operands = options_parse(&run_line, argc, argv, &options, &done, &err);
	if (operands < 0) {
		log_err("%s", err.reason);
		return RUN_FAILED;
	}
	if (done) {
		if (output_flush(&err) == 0)
			return 0;
		log_err("%s", err.reason);
		return RUN_FAILED;
	}
	if (operands == 0) {
		log_err("expected a PROGRAM, see 'datasetfs-run --help'");
		return RUN_FAILED;
	}
	if (run_prepare(&options, &err) < 0) {
		log_err("%s", err.reason);
		return RUN_FAILED;
	}
	argv[1 + operands] = NULL;
	if (options.report)
		run_warn(argv[1]);
	return run_program(argv + 1);
}
