/* SPDX-License-Identifier: MIT */
/* Drops capabilities(7) with plain system calls, because nothing else of libcap is needed. */
#include "base/program/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

/* Keep in step with man/datasetfs.8, PRIVILEGES, and contrib/systemd/datasetfs@.service.in. */
static const unsigned privileges_kept[] = {
	CAP_SYS_ADMIN,       /* to unmount on a signal; for io_uring if the sysctl kernel.io_uring_disabled is 1 */
	CAP_DAC_READ_SEARCH, /* to reopen the volume, and to reach the mountpoint, in other users' folders */
	CAP_SYS_PTRACE,      /* to read /proc/PID/status of a caller that asks for a switch, if proc has hidepid */
	CAP_IPC_LOCK,        /* before Linux 5.12 the memory of an io_uring counts as locked */
};

static int privileges_set_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3], kept[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, sets) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(privileges_kept) / sizeof(*privileges_kept); i++)
		kept[CAP_TO_INDEX(privileges_kept[i])].permitted |= CAP_TO_MASK(privileges_kept[i]);
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		kept[i].permitted &= sets[i].permitted;
		kept[i].effective = kept[i].permitted;
	}
	return (int)syscall(SYS_capset, &header, kept);
}

void privileges_drop(void)
{
	if (geteuid() != 0)
		return;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		log_warn("cannot set no_new_privs: %s, ignoring", strerror(errno));
	if (privileges_set_capabilities() < 0)
		log_warn("cannot drop capabilities: %s, ignoring", strerror(errno));
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		log_warn("cannot disable core dumps: %s, ignoring", strerror(errno));
}
