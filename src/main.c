/* SPDX-License-Identifier: MIT */
/* datasetfs and mount.datasetfs: command lines, the background, exit statuses. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assembly/naming.h"
#include "base/cleanup.h"
#include "base/list.h"
#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/notify.h"
#include "base/program/options.h"
#include "base/program/output.h"
#include "base/program/selinux.h"
#include "base/program/signal.h"
#include "base/program/step.h"
#include "base/text/parse.h"
#include "device/leftover.h"
#include "device/occupied.h"
#include "fuse/mount.h"
#include "kernelmount/follower.h"
#include "kernelmount/kernel.h"
#include "kernelmount/kernel_follow.h"
#include "options/option_list.h"
#include "serve/session/session.h"
#include "supervisor/keep.h"
#include "supervisor/message.h"
#include "supervisor/supervisor.h"
#include "unmount.h"

/* mount(8), "EXIT STATUS"; EXIT_USAGE is datasetfs's own. */
enum { EXIT_FAILED = 1, EXIT_HELPER_USAGE = 1, EXIT_USAGE = 2, EXIT_SYSTEM = 2, EXIT_MOUNT = 32 };

#define MAIN_FUSE makedev(10, 229) /* /dev/fuse, in the kernel's list of devices */

/* One -o. */
struct main_list {
	struct main_list *next;
	const char *argument; /* as it was given: a part of argv */
	char *absolute;       /* the same, with absolute paths */
	char *replaced;       /* the argument with that; NULL: none yet */
	char *text;           /* a copy that is cut into words; values of options point into it */
};

struct main_options {
	struct mount_options mount;
	char *volume, *mountpoint; /* absolute */
	char **operands;           /* the same as they were given, for messages */
	struct main_list *lists;
	struct keep *keep;       /* the supervisor that started this process; NULL: none */
	bool foreground;
	bool fake;   /* mount -f: everything but the mount */
	bool helper; /* called by mount(8) */
};

static int main_set_o(void *target, const char *argument, struct error *err)
{
	struct main_options *options = target;
	struct main_list *list = calloc(1, sizeof(*list));
	int r;

	if (!list)
		return error_no_memory(err);
	list->argument = argument;
	list_push(options->lists, list, next);
	r = option_list_absolute(argument, &list->absolute, err);
	if (r < 0)
		return r;
	list->text = strdup(list->absolute);
	return list->text ? option_list_set(list->text, &options->mount, err) : error_no_memory(err);
}

static void main_free(struct main_options *options)
{
	struct main_list *list;

	while ((list = options->lists)) {
		options->lists = list->next;
		free(list->absolute);
		free(list->replaced);
		free(list->text);
		free(list);
	}
	free(options->volume);
	free(options->mountpoint);
}

/* ---- the command lines ---- */

static int main_set_debug(void *target, const char *argument, struct error *err)
{
	(void)argument;
	(void)err;
	((struct main_options *)target)->foreground = true;
	log_set_level(LOG_DEBUG);
	return 0;
}

static const struct option_spec main_rows[] = {
	{ "options", 'o', "LIST", OPTION_LIST(main_set_o), "set mount options, separated by commas" },
	{ "foreground", 'f', NULL, OPTION_TRUE(struct main_options, foreground),
	  "stay in the foreground, log to standard error" },
	{ "debug", 'd', NULL, OPTION_CALL(main_set_debug), "log every request; implies --foreground" },
	{ 0 },
};

static const struct command_line main_line = {
	.program = "datasetfs",
	.usage = "[OPTIONS] VOLUME MOUNTPOINT",
	.summary = "Mount a version of a datasetfs volume read-only; return when it serves.",
	.options = main_rows,
	.more_help = mount_options_help,
};

/* mount(8), "EXTERNAL HELPERS". */
static const struct option_spec main_helper_rows[] = {
	{ "options", 'o', "LIST", OPTION_LIST(main_set_o), "set mount options, separated by commas" },
	{ "fake", 'f', NULL, OPTION_TRUE(struct main_options, fake), "load and verify the version, do not mount it" },
	{ "sloppy", 's', NULL, OPTION_NOTHING, "no effect: an unknown option is still an error" },
	{ "no-mtab", 'n', NULL, OPTION_NOTHING, "no effect" },
	{ "verbose", 'v', NULL, OPTION_NOTHING, "no effect" },
	{ "types", 't', "TYPE", OPTION_NOTHING, "no effect" },
	{ "namespace", 'N', "NS", OPTION_REFUSED("datasetfs mounts in the namespace that it runs in, use nsenter(1)"),
	  "refused: use nsenter(1)" },
	{ 0 },
};

static const struct command_line main_helper_line = {
	.program = "mount.datasetfs",
	.usage = "VOLUME MOUNTPOINT [-sfnv] [-N NS] [-o LIST]",
	.summary = "Mount a volume for mount(8), which runs this helper for the type datasetfs.",
	.options = main_helper_rows,
	.more_help = mount_options_help,
};

static int main_check_mountpoint(const char *path, struct error *err)
{
	struct stat st;
	int r = leftover_stat(path, &st, err);

	if (r == -ENOENT)
		return error_set(err, r, "mountpoint '%s' does not exist: 'mkdir -p %s' makes it", path, path);
	if (r < 0)
		return error_wrap(err, r, "mountpoint '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, -ENOTDIR, "mountpoint '%s' is not a directory: VOLUME comes first, then "
				 "MOUNTPOINT", path);
	return 0;
}

/* Returns 1 if the same is mounted there and mount(8) asks, as by 'mount -a': it looks for VOLUME alone in its table,
 * where a mount with version= is VOLUME@LABEL and one of the kernel is a loop device. */
static int main_check_free(const struct main_options *options, struct error *err)
{
	const struct occupied_same same = { options->volume, options->mount.version };

	return occupied_check(options->mountpoint, options->helper ? &same : NULL, err);
}

/* Takes a mount that another process has made, as libfuse does: mount.fuse3 -o drop_privileges and container runtimes
 * leave its /dev/fuse to the program. */
static int main_take_given(struct main_options *options, const char *operand, struct error *err)
{
	uint64_t number;
	struct stat st;

	if (strncmp(operand, MOUNT_GIVEN, strlen(MOUNT_GIVEN)) != 0)
		return 0;
	if (parse_u64(operand + strlen(MOUNT_GIVEN), STDERR_FILENO + 1, INT_MAX, &number, err) < 0)
		return error_wrap(err, -EINVAL, "mountpoint '%s'", operand);
	if (options->mount.kernel || options->fake)
		return error_set(err, -EINVAL, "mountpoint '%s' cannot be combined with %s", operand,
				 options->mount.kernel ? "the mount option 'kernel'" : "-f");
	if (fstat((int)number, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != MAIN_FUSE)
		return error_set(err, -ENOTTY, "mountpoint '%s' is not /dev/fuse, open and mounted", operand);
	options->mount.is_given = true;
	options->mount.given = (int)number;
	return 0;
}

static int main_find_mountpoint(struct main_options *options, const char *operand, struct error *err)
{
	int r = main_take_given(options, operand, err);

	if (r == 0 && !options->mount.is_given)
		r = main_check_mountpoint(operand, err);
	if (r < 0)
		return r;
	options->mountpoint = options->mount.is_given ? strdup(operand) : realpath(operand, NULL);
	return options->mountpoint ? 0 : error_errno(err, "mountpoint '%s'", operand);
}

static int main_resolve(struct main_options *options, char **operands, struct error *err)
{
	int r;

	r = main_find_mountpoint(options, operands[1], err);
	if (r == 0)
		r = naming_absolute(operands[0], &options->volume, err); /* the daemon leaves the working directory */
	if (r < 0)
		return r;
	r = options->mount.is_given ? 0 : main_check_free(options, err); /* and once more just before the mount */
	if (r < 0)
		return error_wrap(err, r, "mountpoint '%s'", operands[1]);
	options->operands = operands;
	options->mount.volume = options->volume;
	options->mount.mountpoint = options->mountpoint;
	return r;
}

/* ---- the background ---- */

/* Waits until the child says that it serves, or ends with a status of its own. */
static int main_wait_ready(int fd, pid_t child)
{
	char ready;
	int status;
	ssize_t n;

	do
		n = read(fd, &ready, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return 0;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_MOUNT;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return WEXITSTATUS(status);
	if (WIFSIGNALED(status))
		log_err("the daemon was killed by signal %d before it was ready", WTERMSIG(status));
	return EXIT_MOUNT;
}

/* In the parent returns its exit status, in the child -1 and the descriptor to report at. */
static int main_fork(int *ret_ready)
{
	int fds[2], status;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0 || (child = fork()) < 0) {
		log_err("cannot go to the background: %s", strerror(errno));
		return EXIT_SYSTEM;
	}
	if (child == 0) {
		close(fds[0]);
		*ret_ready = fds[1];
		return -1;
	}
	close(fds[1]);
	status = main_wait_ready(fds[0], child);
	close(fds[0]);
	return status;
}

/* Lets go of the terminal. */
static void main_detach(void)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	log_to_syslog();
	setsid();
	if (chdir("/") < 0)
		log_warn("cannot leave the working directory: %s, ignoring", strerror(errno));
	if (null >= 0)
		for (int fd = 0; fd <= 2; fd++)
			if (fd != null)
				dup2(null, fd);
	if (null >= 0 && null <= 2)
		null = -1;
}

/* The process that was started: it supervises the one that serves, or serves itself. */
struct main_daemon {
	const struct main_options *options;
	int ready; /* where its parent waits for the report that it serves; -1: in the foreground */
};

/* Reports that the mount serves. */
static void main_ready(void *argument)
{
	struct main_daemon *daemon = argument;
	const struct mount_options *serve = &daemon->options->mount;

	if (daemon->ready >= 0) {
		main_detach();
		if (write(daemon->ready, "", 1) < 0)
			log_warn("the starting process exited before the mount was ready: %s, ignoring",
				 strerror(errno));
		close_fd(&daemon->ready);
	}
	notify_send("MAINPID=%d\nREADY=1\nSTATUS=serving '%s' on '%s'", (int)getpid(), serve->volume,
		    serve->mountpoint);
}

static int main_run(struct main_daemon *daemon, struct session *session)
{
	struct keep *keep = daemon->options->keep;
	struct error err = { 0 };
	int r;

	if (!keep)
		main_ready(daemon);
	else if (!daemon->options->foreground && !keep_is_successor(keep))
		main_detach();
	keep_ready(keep);
	r = session_run(session, &err);
	if (session_is_replaced(session))
		syscall(SYS_exit_group, SUPERVISOR_AGAIN);
	if (r < 0)
		log_error(&err, "'%s'", session_mountpoint(session));
	return r < 0 ? EXIT_FAILED : 0;
}

/* A successor that cannot start now may be able to in a moment, unless it refuses what its predecessor left. It ends at
 * once then, as an orderly end would close files that the next one needs. */
static int main_failed(const struct main_options *options, const struct error *err)
{
	if (keep_is_successor(options->keep)) {
		log_error(err, "cannot take over the mount");
		if (err->code != -EPROTO)
			syscall(SYS_exit_group, SUPERVISOR_AGAIN);
		return EXIT_FAILED;
	}
	log_error(err, "cannot mount '%s' on '%s'", options->operands[0], options->operands[1]);
	return EXIT_MOUNT;
}

/* Says whether this program could take over, beside the one that serves. */
static _Noreturn void main_rehearse_takeover(const struct main_options *options)
{
	struct error err = { 0 };

	if (session_rehearse(&options->mount, options->keep, &err) == 0)
		keep_prepared(options->keep);
	else
		keep_refuse(options->keep, &err);
	syscall(SYS_exit_group, 0);
	abort();
}

static int main_serve(struct main_daemon *daemon)
{
	const struct main_options *options = daemon->options;
	struct session *session = NULL;
	struct error err = { 0 };
	int status;

	if (options->foreground)
		log_with_time();
	else if (keep_is_successor(options->keep))
		log_to_syslog();
	descriptors_raise_limit();
	session_block_signals();
	if (keep_is_rehearsal(options->keep))
		main_rehearse_takeover(options);
	if (session_start(&options->mount, options->keep, &session, &err) < 0)
		status = main_failed(options, &err);
	else
		status = main_run(daemon, session);
	if (!session_free(session)) {
		keep_end(options->keep);
		/* A thread that the kernel keeps would keep files open, too. */
		(void)close_range(0, ~0u, 0);
		/* _exit() of a sanitizer takes a second, in which such a thread may go on without its descriptors. */
		syscall(SYS_exit_group, status);
	}
	return status;
}

/* The server has passed on the descriptor that it was given; this copy would keep the mount alive. */
static void main_ready_supervised(void *argument)
{
	const struct mount_options *serve = &((struct main_daemon *)argument)->options->mount;

	if (serve->is_given)
		close(serve->given);
	main_ready(argument);
}

static int main_supervise(struct main_daemon *daemon, char **argv)
{
	const struct supervisor_setup setup = { .argv = argv, .ready = main_ready_supervised, .argument = daemon,
						  .patience = step_number("DATASETFS_PATIENCE", 0) };

	if (daemon->options->foreground)
		log_with_time();
	return supervisor_run(&setup);
}

/* mount -f */
static int main_rehearse(const struct main_options *options)
{
	struct error err = { 0 };

	if (session_check(&options->mount, &err) < 0) {
		log_error(&err, "cannot mount '%s' on '%s'", options->operands[0], options->operands[1]);
		return EXIT_MOUNT;
	}
	return 0;
}

/* Joins the lists of options as they are to be kept; the last one that was given is the first one here. */
static int main_join(const struct main_options *options, char **ret, struct error *err)
{
	char *joined = strdup("defaults"), *longer;

	for (const struct main_list *list = options->lists; joined && list; list = list->next) {
		if (asprintf(&longer, "%s,%s", list->absolute, joined) < 0)
			longer = NULL;
		free(joined);
		joined = longer;
	}
	*ret = joined;
	return joined ? 0 : error_no_memory(err);
}

/* Follows the volume; the mount serves even if that fails. */
static int main_follow(const struct main_options *options)
{
	struct error err = { 0 };
	int r = follower_start(options->mountpoint, &err);

	if (r > 0) {
		main_detach();
		r = kernel_follow(options->mountpoint, &err);
	}
	if (r < 0)
		log_error(&err, "'%s' does not follow its volume, 'datasetfsctl follow' does that",
			  options->mountpoint);
	return 0;
}

static int main_mount_kernel(const struct main_options *options)
{
	auto_free char *list = NULL;
	struct error err = { 0 };
	int r = main_join(options, &list, &err);

	if (r == 0)
		r = kernel_mount(&options->mount, list, options->fake, &err);
	if (r == 0 && options->mount.follow && !options->fake)
		return main_follow(options);
	if (r < 0) {
		log_error(&err, "cannot mount '%s' on '%s'", options->operands[0], options->operands[1]);
		return EXIT_MOUNT;
	}
	return 0;
}

/* Whether we were called as mount.datasetfs, or as umount.datasetfs and the like. */
static bool main_is_called(const char *program, const char *prefix)
{
	const char *name = strrchr(program, '/');

	return !strncmp(name ? name + 1 : program, prefix, strlen(prefix));
}

/* --help and --version end here. */
static int main_printed(const struct main_options *options)
{
	struct error err = { 0 };

	if (output_flush(&err) == 0)
		return 0;
	log_err("%s", err.reason);
	return options->helper ? EXIT_SYSTEM : EXIT_FAILED;
}

/* The exit status, or -1 to go on. */
static int main_command_line(int argc, char **argv, struct main_options *options)
{
	const struct command_line *line = options->helper ? &main_helper_line : &main_line;
	int usage = options->helper ? EXIT_HELPER_USAGE : EXIT_USAGE;
	struct error err = { 0 };
	int operands, r;
	bool done;

	log_set_program(line->program);
	operands = options_parse(line, argc, argv, options, &done, &err);
	if (operands < 0) {
		log_err("%s", err.reason);
		return usage;
	}
	if (done)
		return main_printed(options);
	r = mount_options_check(&options->mount, &err);
	if (r == 0 && !keep_is_successor(options->keep)) /* the record has the numbers, as the names may be gone */
		r = mount_options_find_groups(&options->mount, &err);
	if (r < 0) {
		log_err("%s", err.reason);
		return usage;
	}
	if (selinux_drop(&options->mount.selinux) && !options->keep)
		log_info("the kernel has no SELinux, ignoring the mount options for it");
	if (operands != 2) {
		log_err("expected VOLUME and MOUNTPOINT, found %d of them, see '%s --help'", operands,
			line->program);
		return usage;
	}
	if (keep_is_successor(options->keep)) /* the mountpoint would wait for this process */
		return -1;
	r = main_resolve(options, argv + 1, &err);
	if (r < 0)
		log_err("%s", err.reason);
	else if (r > 0)
		log_info("'%s' is mounted on '%s' already", argv[1], argv[2]);
	return r < 0 ? EXIT_MOUNT : r > 0 ? 0 : -1;
}

/* Copies argv, as the parser changes its order. */
static char **main_copy(int argc, char **argv)
{
	char **copy = calloc((size_t)argc + 1, sizeof(*copy));

	if (copy)
		memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	else
		log_err("no memory");
	return copy;
}

/* Puts a list with absolute paths in place of the one that was given, which may be a part of an argument (-oLIST). */
static int main_replace_list(char **arguments, struct main_list *list)
{
	size_t i = 0;

	while (arguments[i] && (list->argument < arguments[i] ||
				list->argument > arguments[i] + strlen(arguments[i])))
		i++;
	if (!arguments[i])
		return 0;
	if (asprintf(&list->replaced, "%.*s%s", (int)(list->argument - arguments[i]), arguments[i],
		     list->absolute) < 0) {
		list->replaced = NULL;
		return -ENOMEM;
	}
	arguments[i] = list->replaced;
	return 0;
}

/* Makes the arguments those for successors, which have another working directory. Returns an exit status, or -1. */
static int main_replace(char **arguments, const struct main_options *options)
{
	for (struct main_list *list = options->lists; list; list = list->next)
		if (main_replace_list(arguments, list) < 0) {
			log_err("no memory");
			return EXIT_SYSTEM;
		}
	return -1;
}

/* The same for the process that was started, which may go to the background, and for the server that it starts. */
static int main_begin(const struct main_options *options, char **argv)
{
	struct main_daemon daemon = { .options = options, .ready = -1 };
	int status;

	if (options->keep)
		return main_serve(&daemon);
	if (!options->foreground) {
		descriptors_close_inherited(options->mount.is_given ? options->mount.given : -1);
		status = main_fork(&daemon.ready);
		if (status >= 0)
			return status;
	}
	return options->mount.nosupervisor ? main_serve(&daemon) : main_supervise(&daemon, argv);
}

int main(int argc, char **argv)
{
	struct main_options options = { .helper = main_is_called(argv[0], "mount.") };
	struct error err = { 0 };
	char **arguments;
	int status;

	descriptors_reserve();
	signal_ignore_size_limit();
	if (main_is_called(argv[0], "umount."))
		return unmount_main(argc, argv);
	if (keep_open(&options.keep, &err) < 0) {
		log_err("%s", err.reason);
		return EXIT_SYSTEM;
	}
	mount_options_init(&options.mount);
	options.mount.ignores_rw = options.helper;
	arguments = main_copy(argc, argv);
	status = arguments ? main_command_line(argc, argv, &options) : EXIT_SYSTEM;
	if (status < 0)
		status = main_replace(arguments, &options);
	if (status < 0 && options.mount.kernel)
		status = main_mount_kernel(&options);
	if (status < 0 && options.fake)
		status = main_rehearse(&options);
	if (status < 0)
		status = main_begin(&options, arguments);
	free(arguments);
	main_free(&options);
	keep_close(options.keep);
	return status;
}
