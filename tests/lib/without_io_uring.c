/* SPDX-License-Identifier: MIT */
/* Runs a program in which io_uring_setup() fails with EPERM, as container runtimes have it; or, with -o, in which the
 * io_uring is one from before Linux 5.6: asked for what it can do it fails with EINVAL.
 * usage: without_io_uring [-o] PROGRAM ARGUMENT... */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int filter(struct sock_filter *steps, size_t count)
{
	struct sock_fprog program = { .len = (unsigned short)count, .filter = steps };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return 0;
	perror("seccomp");
	return 77;
}

int main(int argc, char **argv)
{
	struct sock_filter none[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter old[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_register, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IORING_REGISTER_PROBE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	int is_old = argc > 2 && !strcmp(argv[1], "-o");
	int r = is_old ? filter(old, sizeof(old) / sizeof(*old)) : filter(none, sizeof(none) / sizeof(*none));

	if (r != 0)
		return r;
	argv += is_old;
	if (!argv[1])
		return 2;
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
