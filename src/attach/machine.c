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
#include "base/same.h"

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
	if (there >= 0 && !same_file(&st, own)) {
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
