/* SPDX-License-Identifier: MIT */
/* Uses setns(2), and the links in /proc/PID/ns. */
#include "attach/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mountinfo.h"

#define MACHINE_TEXT_SIZE 40u

/* ---- there and back ---- */

static int machine_find(int *ret_own, int *ret_there, struct stat *own, struct error *err)
{
	auto_close int there = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
	auto_close int here = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (here < 0 || fstat(here, own) < 0)
		return error_errno(err, "cannot open '/proc/self/ns/mnt'");
	if (there < 0 && errno != EACCES && errno != EPERM)
		return error_errno(err, "cannot open '/proc/1/ns/mnt'");
	if (there >= 0 && fstat(there, &st) < 0)
		return error_errno(err, "cannot look at '/proc/1/ns/mnt'");
	if (there >= 0 && (st.st_ino != own->st_ino || st.st_dev != own->st_dev)) {
		*ret_own = take_fd(&here);
		*ret_there = take_fd(&there);
	}
	return 0;
}

int machine_enter(struct machine *ret, struct error *err)
{
	struct machine machine = MACHINE_NONE;
	auto_close int there = -1;
	struct stat own;
	int r = machine_find(&machine.own, &there, &own, err);

	if (r == 0 && there >= 0) {
		machine.number = own.st_ino;
		machine.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		machine.folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (machine.root < 0 || machine.folder < 0 || setns(there, CLONE_NEWNS) < 0)
			r = error_errno(err, "cannot enter the mount namespace of process 1");
	}
	if (r < 0) {
		close_fd(&machine.own);
		close_fd(&machine.root);
		close_fd(&machine.folder);
		return r;
	}
	*ret = machine;
	return 0;
}

void machine_leave(struct machine *machine)
{
	if (machine->own >= 0 && (setns(machine->own, CLONE_NEWNS) < 0 || fchdir(machine->root) < 0 ||
				  chroot(".") < 0 || fchdir(machine->folder) < 0))
		abort();
	close_fd(&machine->own);
	close_fd(&machine->root);
	close_fd(&machine->folder);
}

/* ---- who is in a namespace ---- */

struct machine_search {
	char text[MACHINE_TEXT_SIZE]; /* "mnt:[4026532177]" */
};

static int machine_see_mounted(void *argument, const struct mountinfo *info, struct error *err)
{
	const struct machine_search *search = argument;

	(void)err;
	return !strcmp(info->type, "nsfs") && !strcmp(info->root, search->text);
}

static bool machine_is_in(const struct machine_search *search, const char *process)
{
	char path[PATH_MAX], text[MACHINE_TEXT_SIZE];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
	length = readlink(path, text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = 0;
	return !strcmp(text, search->text);
}

pid_t machine_process_in(uint64_t number)
{
	struct machine_search search;
	const struct dirent *entry;
	DIR *processes;
	pid_t found = 0;

	snprintf(search.text, sizeof(search.text), "mnt:[%" PRIu64 "]", number);
	if (mountinfo_each(machine_see_mounted, &search, NULL) > 0)
		return 1;
	processes = opendir("/proc");
	while (processes && !found && (entry = readdir(processes)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && machine_is_in(&search, entry->d_name))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	if (processes)
		closedir(processes);
	return found;
}
