/* SPDX-License-Identifier: MIT */
/* datasetfs and mount.datasetfs: command lines, the background, exit statuses. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

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
#include "base/text/nearest.h"
#include "base/text/parse.h"
#include "device/leftover.h"
#include "device/occupied.h"
#include "fuse/mount.h"
#include "image/catalogue/version.h"
#include "kernel/kernel.h"
#include "members/naming.h"
#include "serve/session/session.h"
#include "supervisor/keep.h"
#include "supervisor/message.h"
#include "supervisor/supervisor.h"
#include "unmount.h"
#include "options/option_list.h"

/* mount(8), "EXIT STATUS"; EXIT_USAGE is datasetfs's own. */
enum { EXIT_FAILED = 1, EXIT_HELPER_USAGE = 1, EXIT_USAGE = 2, EXIT_SYSTEM = 2, EXIT_MOUNT = 32 };

#define FOLLOW_SECONDS 5 /* between looks, unless the option says */
#define DEADLINE       300 /* seconds that a read waits for the device, unless the option says */
#define DEADLINE_MAX   31536000
#define MAIN_FUSE      makedev(10, 229) /* /dev/fuse, in the kernel's list of devices */

/* One -o. */
struct main_list {
	struct main_list *next;
	const char *argument; /* as it was given: a part of argv */
	char *absolute;       /* the same, with absolute paths */
	char *replaced;       /* the argument with that; NULL: none yet */
	char *text;           /* a copy that is cut into words; values of options point into it */
};

struct main_options {
	struct mount_options serve;
	char *volume, *mountpoint; /* absolute */
	char **operands;           /* the same as they were given, for messages */
	struct main_list *lists;
	struct keep *keep;       /* the supervisor that started this process; NULL: none */
	bool kernel;             /* no daemon: the kernel serves */
	const char *daemon_word; /* a mount option that only a daemon can do */
	bool foreground;
	bool fake;   /* mount -f: everything but the mount */
	bool helper; /* called by mount(8) */
};

/* ---- -o ---- */

/* mount(8) hands rw to its helpers unless the user says ro. */
static int main_set_rw(void *target, const char *value, struct error *err)
{
	struct main_options *options = target;
	(void)value;
	if (options->helper)
		return 0;
	return error_set(err, -EINVAL, "a mounted version is read-only, publish a new one with mkdatasetfs");
}

/* fusermount3 would drop it with a line of its own, or refuse it. */
static int main_set_as_root(bool *target, struct error *err)
{
	if (geteuid() != 0)
		return error_set(err, -EPERM, "only root may ask for it");
	*target = true;
	return 0;
}

static int main_set_suid(void *target, const char *value, struct error *err)
{
	(void)value;
	return main_set_as_root(&((struct main_options *)target)->serve.suid, err);
}

static int main_set_nosymfollow(void *target, const char *value, struct error *err)
{
	(void)value;
	return main_set_as_root(&((struct main_options *)target)->serve.nosymfollow, err);
}

static int main_set_dev(void *target, const char *value, struct error *err)
{
	(void)target;
	(void)value;
	return error_set(err, -EINVAL, "a volume is always mounted nodev");
}

static int main_set_remount(void *target, const char *value, struct error *err)
{
	(void)target;
	(void)value;
	return error_set(err, -EINVAL, "a mount keeps its options, unmount it and mount it again");
}

static int main_set_digest(void *target, const char *value, struct error *err)
{
	struct main_options *options = target;

	options->serve.has_digest = true;
	return parse_digest(value, options->serve.digest, err);
}

static int main_set_cache_size(void *target, const char *value, struct error *err)
{
	struct main_options *options = target;

	return parse_size(value, SERVE_CACHE_MIN, SERVE_CACHE_MAX, &options->serve.cache_size, err);
}

/* A successor takes the number from the record: the name may be gone, or stand for another group by now. */
static int main_find_group(const struct main_options *options, const char *value, uint32_t *ret, struct error *err)
{
	const struct group *group;
	uint64_t number;

	if (keep_is_successor(options->keep))
		return 0;
	group = getgrnam(value);
	if (group)
		number = group->gr_gid;
	else if (parse_u64(value, 0, UINT32_MAX - 1, &number, NULL) < 0)
		return error_set(err, -EINVAL, "there is no group '%s'", value);
	*ret = (uint32_t)number;
	return 0;
}

static int main_set_control_group(void *target, const char *value, struct error *err)
{
	struct main_options *options = target;

	options->serve.has_control_group = true;
	return main_find_group(options, value, &options->serve.control_group, err);
}

static int main_set_direct_group(void *target, const char *value, struct error *err)
{
	struct main_options *options = target;

	options->serve.has_direct_group = true;
	options->serve.direct_group_name = value;
	return main_find_group(options, value, &options->serve.direct_group, err);
}

/* current, or current:SECONDS. */
static int main_set_follow(void *target, const char *value, struct error *err)
{
	struct main_options *options = target;
	static const char what[] = "current";
	const char *seconds = value + strlen(what);
	uint64_t n = FOLLOW_SECONDS;
	int r = 0;

	if (strncmp(value, what, strlen(what)) != 0 || (*seconds && *seconds != ':'))
		return error_set(err, -EINVAL, "'%s' is neither 'current' nor 'current:SECONDS'", value);
	if (*seconds)
		r = parse_u64(seconds + 1, 1, 86400, &n, err);
	if (r == 0)
		options->serve.follow = (unsigned)n;
	return r;
}

/* off, or SIZE. */
static int main_set_readahead(void *target, const char *value, struct error *err)
{
	struct main_options *options = target;

	return parse_size_or_off(value, SERVE_AHEAD_MIN, SERVE_AHEAD_MAX, &options->serve.ahead, err);
}

static int main_set_prefetch(void *target, const char *value, struct error *err)
{
	struct main_options *options = target;

	return parse_size_or_off(value, SERVE_PREFETCH_MIN, SERVE_PREFETCH_MAX, &options->serve.prefetch, err);
}

static int main_set_max_bandwidth(void *target, const char *value, struct error *err)
{
	struct main_options *options = target;

	return parse_size(value, WINDOW_BANDWIDTH_MIN, WINDOW_BANDWIDTH_MAX, &options->serve.max_bandwidth, err);
}

#define MAIN_TRUE(FIELD)      OPTION_TRUE(struct main_options, FIELD)
#define MAIN_FALSE(FIELD)     OPTION_FALSE(struct main_options, FIELD)
#define MAIN_SELINUX(INDEX)   OPTION_TEXT(struct main_options, serve.selinux.values[INDEX], selinux_check)
#define MAIN_WORD(FIELD, ...) OPTION_WORD(struct main_options, FIELD, __VA_ARGS__)

/* The words that -o knows, but for those that change nothing. */
static const struct main_word {
	const char *name;
	bool has_value;
	bool needs_daemon; /* means nothing where none runs */
	struct option_value value;
} main_words[] = {
	{ "kernel", false, false, MAIN_TRUE(kernel) },
	{ "version", true, false, OPTION_TEXT(struct main_options, serve.version, version_check_label) },
	{ "digest", true, false, OPTION_CALL(main_set_digest) },
	{ "trust", true, false, OPTION_TEXT(struct main_options, serve.trust.signers, NULL) },
	{ "revoked", true, false, OPTION_TEXT(struct main_options, serve.trust.revoked, NULL) },
	{ "verify", true, true, MAIN_WORD(serve.read.verify, "never", "always") },
	{ "io", true, true, MAIN_WORD(serve.io, "auto", "uring", "threads") },
	{ "channel", true, true, MAIN_WORD(serve.channel, "auto", "ring", "dev") },
	{ "workers", true, true, OPTION_NUMBER(struct main_options, serve.workers, 1, 1024) },
	{ "readahead", true, true, OPTION_CALL(main_set_readahead) },
	{ "prefetch", true, true, OPTION_CALL(main_set_prefetch) },
	{ "window", true, true, MAIN_WORD(serve.window, "off", "auto") },
	{ "max_iops", true, true, OPTION_NUMBER(struct main_options, serve.max_iops, 1, WINDOW_IOPS_MAX) },
	{ "max_bandwidth", true, true, OPTION_CALL(main_set_max_bandwidth) },
	{ "cache", true, true, OPTION_TEXT(struct main_options, serve.cache, NULL) },
	{ "cache_size", true, true, OPTION_CALL(main_set_cache_size) },
	{ "cache_fill", true, true, MAIN_WORD(serve.cache_fill, "reads", "warm") },
	{ "on_error", true, true, MAIN_WORD(serve.read.wait, "eio", "wait") },
	{ "deadline", true, true, OPTION_NUMBER(struct main_options, serve.read.deadline, 1, DEADLINE_MAX) },
	{ "control_group", true, true, OPTION_CALL(main_set_control_group) },
	{ "direct_group", true, true, OPTION_CALL(main_set_direct_group) },
	{ "follow", true, true, OPTION_CALL(main_set_follow) },
	{ "notify", true, true, MAIN_WORD(serve.notify, "auto", "epoch", "entries") },
	{ "versions", false, true, MAIN_FALSE(serve.noversions) },
	{ "noversions", false, false, MAIN_TRUE(serve.noversions) },
	{ "supervisor", false, true, MAIN_FALSE(serve.nosupervisor) },
	{ "nosupervisor", false, false, MAIN_TRUE(serve.nosupervisor) },
	{ "idmap", false, true, MAIN_TRUE(serve.idmap) },
	{ "allow_other", false, false, MAIN_TRUE(serve.allow_other) },
	{ "rw", false, false, OPTION_CALL(main_set_rw) },
	{ "exec", false, false, MAIN_FALSE(serve.noexec) },
	{ "noexec", false, false, MAIN_TRUE(serve.noexec) },
	{ "suid", false, false, OPTION_CALL(main_set_suid) },
	{ "allow_suid", false, false, OPTION_CALL(main_set_suid) }, /* mount(8) keeps suid, its default, for itself */
	{ "nosuid", false, false, MAIN_FALSE(serve.suid) },
	{ "symfollow", false, false, MAIN_FALSE(serve.nosymfollow) },
	{ "nosymfollow", false, false, OPTION_CALL(main_set_nosymfollow) },
	{ "context", true, false, MAIN_SELINUX(SELINUX_CONTEXT) },
	{ "fscontext", true, false, MAIN_SELINUX(SELINUX_FSCONTEXT) },
	{ "defcontext", true, false, MAIN_SELINUX(SELINUX_DEFCONTEXT) },
	{ "rootcontext", true, false, MAIN_SELINUX(SELINUX_ROOTCONTEXT) },
	{ "dev", false, false, OPTION_CALL(main_set_dev) },
	{ "remount", false, false, OPTION_CALL(main_set_remount) },
};

/* Words without a value that change nothing: it is so anyway, or they are for mount(8). */
static const char *const main_idle_words[] = {
	"ro", "nodev", "noatime", "atime", "nodiratime", "diratime", "relatime", "norelatime", "strictatime",
	"nostrictatime", "lazytime", "nolazytime", "iversion", "noiversion", "silent", "loud", "mand", "nomand",
	"default_permissions", "seclabel", "defaults", "_netdev", "nofail", "auto", "noauto", "user", "nouser", "users",
	"owner", "group", "async", "sync", "dirsync",
};

#define MAIN_COUNT(ARRAY) (sizeof(ARRAY) / sizeof((ARRAY)[0]))

/* x-systemd.automount, comment=..., user=NAME: for others to read. */
static bool main_is_foreign_word(const char *word)
{
	return !strncmp(word, "x-", 2) || !strncmp(word, "X-", 2) || !strncmp(word, "comment=", 8) ||
	       !strncmp(word, "user=", 5);
}

static int main_apply_word(struct main_options *options, const struct main_word *known, const char *value,
			   struct error *err)
{
	int r;

	if (known->has_value && (!value || !*value))
		return error_set(err, -EINVAL, "mount option '%s' needs a value", known->name);
	if (!known->has_value && value)
		return error_set(err, -EINVAL, "mount option '%s' takes no value", known->name);
	if (known->needs_daemon)
		options->daemon_word = known->name;
	r = option_set(&known->value, options, value, err);
	return r < 0 ? error_wrap(err, r, "mount option '%s'", known->name) : 0;
}

static int main_unknown_word(const char *word, struct error *err)
{
	struct nearest nearest = nearest_begin(word, strlen(word));

	for (size_t i = 0; i < MAIN_COUNT(main_words); i++)
		nearest_try(&nearest, main_words[i].name);
	for (size_t i = 0; i < MAIN_COUNT(main_idle_words); i++)
		nearest_try(&nearest, main_idle_words[i]);
	if (nearest.found)
		return error_set(err, -EINVAL, "-o %s: unknown; did you mean %s?", word, nearest.found);
	return error_set(err, -EINVAL, "-o %s: unknown, see datasetfs(8)", word);
}

/* word is cut at its '='; values point into it. */
static int main_word(struct main_options *options, char *word, struct error *err)
{
	struct main_word idle = { .value = OPTION_NOTHING };
	char *value;

	if (!*word || main_is_foreign_word(word))
		return 0;
	value = strchr(word, '=');
	if (value)
		*value++ = 0;
	for (size_t i = 0; i < MAIN_COUNT(main_words); i++)
		if (!strcmp(main_words[i].name, word))
			return main_apply_word(options, &main_words[i], value, err);
	for (size_t i = 0; i < MAIN_COUNT(main_idle_words); i++) {
		idle.name = main_idle_words[i];
		if (!strcmp(idle.name, word))
			return main_apply_word(options, &idle, value, err);
	}
	return main_unknown_word(word, err);
}

static int main_set_o(void *target, const char *argument, struct error *err)
{
	struct main_options *options = target;
	struct main_list *list = calloc(1, sizeof(*list));
	char *word, *rest;
	int r;

	if (!list)
		return error_no_memory(err);
	list->argument = argument;
	list_push(options->lists, list, next);
	r = option_list_absolute(argument, &list->absolute, err);
	if (r < 0)
		return r;
	rest = list->text = strdup(list->absolute);
	if (!rest)
		return error_no_memory(err);
	while (r == 0 && (word = option_list_cut(&rest)))
		r = main_word(options, word, err);
	return r;
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
	{ "options", 'o', "LIST", OPTION_LIST(main_set_o), "set mount options, see datasetfs(8)" },
	{ "foreground", 'f', NULL, MAIN_TRUE(foreground), "stay in the foreground, log to standard error" },
	{ "debug", 'd', NULL, OPTION_CALL(main_set_debug), "log every request; implies --foreground" },
	{ 0 },
};

static const struct command_line main_line = {
	.program = "datasetfs",
	.usage = "[OPTIONS] VOLUME MOUNTPOINT",
	.summary = "Mount a version of a datasetfs volume read-only; return when it serves.",
	.options = main_rows,
};

static int main_set_namespace(void *target, const char *argument, struct error *err)
{
	(void)target;
	(void)argument;
	return error_set(err, -EINVAL, "datasetfs mounts in the namespace that it runs in, use nsenter(1)");
}

/* mount(8), "EXTERNAL HELPERS". */
static const struct option_spec main_helper_rows[] = {
	{ "options", 'o', "LIST", OPTION_LIST(main_set_o), "set mount options, see datasetfs(8)" },
	{ "fake", 'f', NULL, MAIN_TRUE(fake), "load and verify the version, do not mount it" },
	{ "sloppy", 's', NULL, OPTION_NOTHING, "no effect: an unknown option is still an error" },
	{ "no-mtab", 'n', NULL, OPTION_NOTHING, "no effect" },
	{ "verbose", 'v', NULL, OPTION_NOTHING, "no effect" },
	{ "types", 't', "TYPE", OPTION_NOTHING, "no effect" },
	{ "namespace", 'N', "NS", OPTION_CALL(main_set_namespace), "refused: use nsenter(1)" },
	{ 0 },
};

static const struct command_line main_helper_line = {
	.program = "mount.datasetfs",
	.usage = "VOLUME MOUNTPOINT [-sfnv] [-N NS] [-o LIST]",
	.summary = "Mount a volume for mount(8), which runs this helper for the type datasetfs.",
	.options = main_helper_rows,
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
	const struct occupied_same same = { options->volume, options->serve.version };

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
	if (options->kernel || options->fake)
		return error_set(err, -EINVAL, "mountpoint '%s' cannot be combined with %s", operand,
				 options->kernel ? "the mount option 'kernel'" : "-f");
	if (fstat((int)number, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != MAIN_FUSE)
		return error_set(err, -ENOTTY, "mountpoint '%s' is not /dev/fuse, open and mounted", operand);
	options->serve.is_given = true;
	options->serve.given = (int)number;
	return 0;
}

static int main_find_mountpoint(struct main_options *options, const char *operand, struct error *err)
{
	int r = main_take_given(options, operand, err);

	if (r == 0 && !options->serve.is_given)
		r = main_check_mountpoint(operand, err);
	if (r < 0)
		return r;
	options->mountpoint = options->serve.is_given ? strdup(operand) : realpath(operand, NULL);
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
	r = options->serve.is_given ? 0 : main_check_free(options, err); /* and once more just before the mount */
	if (r < 0)
		return error_wrap(err, r, "mountpoint '%s'", operands[1]);
	options->operands = operands;
	options->serve.volume = options->volume;
	options->serve.mountpoint = options->mountpoint;
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
	const struct mount_options *serve = &daemon->options->serve;

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

	if (session_rehearse(&options->serve, options->keep, &err) == 0)
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
	if (session_start(&options->serve, options->keep, &session, &err) < 0)
		status = main_failed(options, &err);
	else
		status = main_run(daemon, session);
	if (!session_free(session)) {
		keep_close(options->keep);
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
	const struct mount_options *serve = &((struct main_daemon *)argument)->options->serve;

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

	if (session_check(&options->serve, &err) < 0) {
		log_error(&err, "cannot mount '%s' on '%s'", options->operands[0], options->operands[1]);
		return EXIT_MOUNT;
	}
	return 0;
}

static int main_mount_kernel(const struct main_options *options)
{
	struct error err = { 0 };

	if (kernel_mount(&options->serve, options->fake, &err) < 0) {
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

/* Checks mount options against each other. */
static int main_check_words(const struct main_options *options, struct error *err)
{
	const struct mount_options *serve = &options->serve;

	if (serve->follow && (serve->version || serve->has_digest))
		return error_set(err, -EINVAL, "mount option 'follow' cannot be combined with '%s', which pins the "
				 "mount", serve->version ? "version" : "digest");
	if (options->kernel && options->daemon_word)
		return error_set(err, -EINVAL, "mount option 'kernel' cannot be combined with '%s': no daemon runs "
				 "that could do it", options->daemon_word);
	if (serve->trust.revoked && !serve->trust.signers)
		return error_set(err, -EINVAL, "mount option 'revoked' needs 'trust', which says who may sign");
	if (serve->trust.signers && !serve->read.verify)
		return error_set(err, -EINVAL, "mount option 'trust' cannot be combined with 'verify=never', which "
				 "serves bytes that nobody signed");
	if (serve->cache_size && !serve->cache)
		return error_set(err, -EINVAL, "mount option 'cache_size' needs 'cache', the folder");
	if (serve->cache_fill && !serve->cache)
		return error_set(err, -EINVAL, "mount option 'cache_fill' needs 'cache', the folder");
	if (serve->cache && !serve->read.verify)
		return error_set(err, -EINVAL, "mount option 'cache' cannot be combined with 'verify=never', as every "
				 "copy may be wrong");
	return 0;
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
	if (main_check_words(options, &err) < 0) {
		log_err("%s", err.reason);
		return usage;
	}
	if (selinux_drop(&options->serve.selinux) && !options->keep)
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

/* Copies argv, whose order the parser changes. */
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
		descriptors_close_inherited(options->serve.is_given ? options->serve.given : -1);
		status = main_fork(&daemon.ready);
		if (status >= 0)
			return status;
	}
	return options->serve.nosupervisor ? main_serve(&daemon) : main_supervise(&daemon, argv);
}

int main(int argc, char **argv)
{
	struct main_options options = {
		.serve = {
			.allow_other = geteuid() == 0,
			.window = true,
			.ahead = SERVE_AHEAD,
			.prefetch = SERVE_PREFETCH,
			.read = { .verify = true, .wait = true, .deadline = DEADLINE },
		},
		.helper = main_is_called(argv[0], "mount."),
	};
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
	arguments = main_copy(argc, argv);
	status = arguments ? main_command_line(argc, argv, &options) : EXIT_SYSTEM;
	if (status < 0)
		status = main_replace(arguments, &options);
	if (status < 0 && options.kernel)
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
