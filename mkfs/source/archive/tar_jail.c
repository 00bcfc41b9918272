/* SPDX-License-Identifier: MIT */
/* Sets resource limits, an empty root directory, the user nobody, no capabilities, and a filter of system calls: each
 * works without the others. If the program was not started by root, only limits and filter apply. */
#include "source/archive/tar_jail.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/same.h"
#include "spill/temp.h"

#define TAR_JAIL_MEMORY (UINT64_C(2) << 30) /* more than the largest decompression window */
#define TAR_JAIL_NOBODY 65534

#if defined(__x86_64__)
#define TAR_JAIL_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define TAR_JAIL_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define TAR_JAIL_ARCH AUDIT_ARCH_RISCV64
#else
#define TAR_JAIL_ARCH AUDIT_ARCH_PPC64LE
#endif

/* System calls that malloc, the C library and the decompressors need once everything is open. */
static const unsigned tar_jail_calls[] = {
	SYS_read, SYS_write, SYS_writev, SYS_lseek, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise,
	SYS_brk, SYS_futex, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_sigaltstack,
	SYS_clock_gettime,
	SYS_getrandom, SYS_sched_yield, SYS_getpid, SYS_gettid, SYS_fstat,
};
#define TAR_JAIL_CALLS (sizeof(tar_jail_calls) / sizeof(*tar_jail_calls))

int tar_jail_close_others(const int *kept, size_t count, struct error *err)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	bool keep;
	int fd;

	if (!folder)
		return error_errno(err, "cannot open '/proc/self/fd'");
	while ((entry = readdir(folder))) {
		fd = atoi(entry->d_name);
		keep = entry->d_name[0] == '.' || fd == dirfd(folder);
		for (size_t i = 0; !keep && i < count; i++)
			keep = kept[i] == fd;
		if (!keep)
			close(fd);
	}
	closedir(folder);
	return 0;
}

/* Returns the bytes of address space already in use: a sanitizer alone reserves terabytes. */
static uint64_t tar_jail_space(void)
{
	auto_fclose FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!file || fscanf(file, "%lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int tar_jail_limit(uint64_t file_size, struct error *err)
{
	const struct { __rlimit_resource_t resource; uint64_t value; } limits[] = {
		{ RLIMIT_AS, tar_jail_space() + TAR_JAIL_MEMORY },
		{ RLIMIT_NOFILE, 0 },
		{ RLIMIT_NPROC, 0 },
		{ RLIMIT_FSIZE, file_size },
		{ RLIMIT_CORE, 0 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct rlimit limit;

		if (getrlimit(limits[i].resource, &limit) < 0)
			return error_errno(err, "cannot read a limit");
		if (limit.rlim_max > limits[i].value)
			limit.rlim_max = limits[i].value;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(limits[i].resource, &limit) < 0)
			return error_errno(err, "cannot set a limit");
	}
	return 0;
}

static int tar_jail_chroot(int folder, const char *name, const struct stat *made, struct error *err)
{
	struct stat root;

	if (fchdir(folder) < 0 || chroot(name) < 0 || chdir("/") < 0 || stat("/", &root) < 0)
		return error_errno(err, "cannot enter an empty directory");
	if (!same_file(&root, made))
		return error_set(err, -ESTALE, "another one took the name of the empty directory '%s'", name);
	return 0;
}

/* Makes an empty root directory. It is removed before it is used, so no process can put anything into it. */
static int tar_jail_root(int folder, struct error *err)
{
	char name[TEMP_NAME_SIZE];
	struct error why = { 0 };
	struct stat made;
	int r = temp_make_directory(folder, name, &made, err);

	if (r < 0)
		return r;
	r = tar_jail_chroot(folder, name, &made, err);
	if (temp_remove_directory(folder, name, &made, &why) < 0 && r == 0)
		return error_pass(err, why.code, &why);
	return r;
}

static int tar_jail_user(struct error *err)
{
	if (setgroups(0, NULL) < 0 || setresgid(TAR_JAIL_NOBODY, TAR_JAIL_NOBODY, TAR_JAIL_NOBODY) < 0 ||
	    setresuid(TAR_JAIL_NOBODY, TAR_JAIL_NOBODY, TAR_JAIL_NOBODY) < 0)
		return error_errno(err, "cannot become nobody");
	return 0;
}

/* Drops EPERM: a root without capabilities, as in some containers, may not do this, and has less to lose. */
static int tar_jail_allowed(int r)
{
	return r == -EPERM ? 0 : r;
}

static int tar_jail_capabilities(struct error *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capset, &header, none) < 0)
		return error_errno(err, "cannot drop capabilities");
	return 0;
}

/* Installs the filter. System calls of another architecture have other numbers, so they kill the process. x32 calls
 * have an extra bit set and match no entry. */
static int tar_jail_filter(struct error *err)
{
	struct sock_filter code[TAR_JAIL_CALLS + 6];
	struct sock_fprog program = { .filter = code };
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TAR_JAIL_ARCH, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < TAR_JAIL_CALLS; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, tar_jail_calls[i],
							 (uint8_t)(TAR_JAIL_CALLS - i), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return error_errno(err, "cannot filter system calls");
	return 0;
}

void tar_jail_ignore_signals(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

/* Makes the process end with its parent, and keeps others of its user out. Another user ID undoes both. */
static int tar_jail_hide(struct error *err)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_errno(err, "prctl");
	return 0;
}

int tar_jail_begin(pid_t parent, struct error *err)
{
	int r = tar_jail_hide(err);

	if (r == 0 && getppid() != parent)
		return error_set(err, -ESRCH, "the packer has ended");
	return r;
}

int tar_jail_drop_privileges(struct error *err)
{
	int r = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, "cannot set no_new_privs");
	if (geteuid() == 0)
		r = tar_jail_allowed(tar_jail_user(err));
	if (r == 0)
		r = tar_jail_capabilities(err);
	return r < 0 ? r : tar_jail_hide(err);
}

int tar_jail_enter(int empty, uint64_t file_size, struct error *err)
{
	int r = tar_jail_limit(file_size, err);

	if (r == 0 && geteuid() == 0)
		r = tar_jail_allowed(tar_jail_root(empty, err));
	close(empty);
	if (r == 0)
		r = tar_jail_drop_privileges(err);
	return r < 0 ? r : tar_jail_filter(err);
}
