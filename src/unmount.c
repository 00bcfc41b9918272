/* SPDX-License-Identifier: MIT */
/* The helper that umount(8) runs. The kernel tells a daemon of an unmount only when it is done: without this helper,
 * umount(8) would return while the daemon still had the volume open, and the filesystem below the volume would be
 * busy. */
#include "unmount.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mountinfo.h"
#include "base/program/invoke.h"
#include "base/program/options.h"
#include "fuse/farewell.h"
#include "fuse/refusal.h"

#define UNMOUNT_WAIT  10000 /* ms that the daemon has to close the volume */
#define UNMOUNT_ERROR 32    /* mount(8), "EXIT STATUS" */
#define UNMOUNT_USAGE 1

struct unmount {
	bool force, lazy, no_mtab, read_only, verbose;
	const char *namespace;
};

/* A mount of ours. */
struct unmount_place {
	unsigned device_major, device_minor;
	unsigned uid; /* who mounted it */
	ino_t folder; /* see farewell_folder() */
};

/* ---- the command line ---- */

/* umount(8), "EXTERNAL HELPERS". */
static const struct option_spec unmount_rows[] = {
	{ "force", 'f', NULL, OPTION_TRUE(struct unmount, force), "unmount even if the daemon does not answer" },
	{ "lazy", 'l', NULL, OPTION_TRUE(struct unmount, lazy), "detach at once, do not wait for the daemon" },
	{ "no-mtab", 'n', NULL, OPTION_TRUE(struct unmount, no_mtab), "passed on to umount(8)" },
	{ "read-only", 'r', NULL, OPTION_TRUE(struct unmount, read_only), "passed on to umount(8)" },
	{ "verbose", 'v', NULL, OPTION_TRUE(struct unmount, verbose), "passed on to umount(8)" },
	{ "namespace", 'N', "NS", OPTION_TEXT(struct unmount, namespace, NULL), "passed on to umount(8)" },
	{ "types", 't', "TYPE", OPTION_NOTHING, "no effect" },
	{ 0 },
};

static const struct command_line unmount_line = {
	.program = "umount.datasetfs",
	.usage = "MOUNTPOINT [-flnrv] [-N NS] [-t TYPE]",
	.summary = "Unmount for umount(8), which runs this helper; return when the volume is closed.",
	.options = unmount_rows,
};

/* ---- the mount at a path ---- */

/* A search for the topmost mount at a path. */
struct unmount_search {
	const char *target;
	struct unmount_place last; /* zero: it is none of ours */
};

static int unmount_visit(void *argument, const struct mountinfo *info, struct error *err)
{
	struct unmount_search *search = argument;
	struct unmount_place place = { .device_major = major(info->device), .device_minor = minor(info->device) };
	const char *user = strcmp(info->type, MOUNTINFO_OURS) ? NULL : strstr(info->options, "user_id=");

	(void)err;
	if (strcmp(info->point, search->target) != 0)
		return 0;
	search->last = (struct unmount_place){ 0 };
	if (user && sscanf(user, "user_id=%u", &place.uid) == 1)
		search->last = place;
	return 0;
}

/* The topmost mount at this path; false when that is none of ours. */
static bool unmount_find(const char *path, struct unmount_place *ret)
{
	auto_free char *target = realpath(path, NULL);
	struct unmount_search search = { .target = target };
	struct error ignored;

	if (!target || mountinfo_each(unmount_visit, &search, &ignored) < 0)
		return false;
	*ret = search.last;
	return search.last.device_minor;
}

/* The filesystem may be mounted elsewhere too, here or in another namespace: then its daemon goes on. Another one may
 * have its number by now. */
static bool unmount_is_alive(const struct unmount_place *place)
{
	return place->folder && farewell_folder(place->device_major, place->device_minor) == place->folder;
}

/* ---- its daemon ---- */

static void unmount_wait(const char *mountpoint, int daemon)
{
	struct pollfd end = { .fd = daemon, .events = POLLRDHUP };

	if (daemon >= 0 && poll(&end, 1, UNMOUNT_WAIT) == 0)
		log_warn("'%s' is unmounted, but after %d s its daemon still has the volume open", mountpoint,
			 UNMOUNT_WAIT / 1000);
}

/* ---- the work ---- */

/* umount(8) without helpers. */
static void unmount_root_words(const struct unmount *unmount, const char *mountpoint, const char *words[12])
{
	*words++ = "/bin/umount";
	*words++ = "-i";
	if (unmount->force)
		*words++ = "-f";
	if (unmount->lazy)
		*words++ = "-l";
	if (unmount->no_mtab)
		*words++ = "-n";
	if (unmount->read_only)
		*words++ = "-r";
	if (unmount->verbose)
		*words++ = "-v";
	if (unmount->namespace) {
		*words++ = "-N";
		*words++ = unmount->namespace;
	}
	*words++ = "--";
	*words++ = mountpoint;
	*words = NULL;
}

/* A user who is not root may only ask fusermount3. */
static int unmount_run(const struct unmount *unmount, const char *mountpoint)
{
	const char *root[12];
	const char *user[] = { "fusermount3", unmount->lazy ? "-uz" : "-u", "--", mountpoint, NULL };
	struct error err = { 0 };
	int status;

	unmount_root_words(unmount, mountpoint, root);
	status = invoke_run(geteuid() == 0 ? root : user, (struct invoke_streams){ -1, -1, -1 }, NULL, &err);
	if (status < 0) {
		log_err("%s", err.reason);
		return UNMOUNT_ERROR;
	}
	if (status && geteuid() != 0 && refusal_check_table(&err) < 0)
		log_error(&err, "'%s' stays mounted", mountpoint);
	return WIFEXITED(status) ? WEXITSTATUS(status) : UNMOUNT_ERROR;
}

static int unmount_do(const struct unmount *unmount, char *mountpoint)
{
	struct unmount_place place = { 0 };
	int daemon = -1; /* the connection ends with the process */
	bool is_ours = !unmount->lazy && unmount_find(mountpoint, &place);
	int status;

	if (is_ours) {
		place.folder = farewell_folder(place.device_major, place.device_minor);
		daemon = farewell_connect(place.device_major, place.device_minor, place.folder, place.uid);
	}
	status = unmount_run(unmount, mountpoint);
	if (status == 0 && is_ours && !unmount_is_alive(&place))
		unmount_wait(mountpoint, daemon);
	return status;
}

int unmount_main(int argc, char **argv)
{
	struct unmount unmount = { 0 };
	struct error err = { 0 };
	int operands;
	bool done;

	log_set_program(unmount_line.program);
	operands = options_parse(&unmount_line, argc, argv, &unmount, &done, &err);
	if (operands < 0) {
		log_err("%s", err.reason);
		return UNMOUNT_USAGE;
	}
	if (done)
		return 0;
	if (operands != 1) {
		log_err("expected MOUNTPOINT, found %d operands, see 'umount.datasetfs --help'", operands);
		return UNMOUNT_USAGE;
	}
	return unmount_do(&unmount, argv[1]);
}
