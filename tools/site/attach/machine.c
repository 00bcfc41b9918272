/* SPDX-License-Identifier: MIT */
/* Uses setns(2). */
#include "attach/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mountinfo.h"
#include "base/same.h"

static int machine_take(void *argument, const struct mountinfo *info, struct error *err)
{
	(void)err;
	*(uint64_t *)argument = info->id;
	return 1;
}

static int machine_meet(void *argument, const struct mountinfo *info, struct error *err)
{
	(void)err;
	return info->id == *(const uint64_t *)argument;
}

/* Refuses a namespace that is not process 1's, where that may not be entered: what is made in the namespace of a job
 * outlives the job, and nobody else sees it. No two mounts of a machine have one number, so one of the caller's shows
 * whether both tables are of one namespace. Root that may see nothing of process 1 is taken to be in a container. */
static int machine_check_own(struct error *err)
{
	uint64_t one;

	if (mountinfo_each(machine_take, &one, NULL) != 1 || mountinfo_each_of_first(machine_meet, &one, NULL) != 0)
		return 0;
	return error_set(err, -EPERM, "cannot enter the mount namespace of process 1, where shared mounts belong: "
			 "CAP_SYS_PTRACE is missing");
}

static int machine_find(int *ret_own, int *ret_there, struct stat *own, struct error *err)
{
	auto_close int here = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	auto_close int there = -1;
	struct stat st;

	if (here < 0 || fstat(here, own) < 0)
		return error_errno(err, "cannot open '/proc/self/ns/mnt'");
	there = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (there < 0)
		return errno == EACCES || errno == EPERM ? machine_check_own(err) :
							   error_errno(err, "cannot open '/proc/1/ns/mnt'");
	if (fstat(there, &st) < 0)
		return error_errno(err, "cannot look at '/proc/1/ns/mnt'");
	if (!same_file(&st, own)) {
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
