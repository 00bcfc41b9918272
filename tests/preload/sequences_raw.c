/* SPDX-License-Identifier: MIT */
/* System calls without the C library's functions: what no preloaded library sees. */
#include "sequences.h"

#include <fcntl.h>
#include <sys/syscall.h>

long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
#error "a bare system call of this processor is missing here"
#endif
}

bool raw_is_open(int fd)
{
	return raw_call(SYS_fcntl, fd, F_GETFD, 0, 0, 0, 0) >= 0;
}

int raw_stat(int fd, struct stat *ret)
{
	return (int)raw_call(SYS_fstat, fd, (long)ret, 0, 0, 0, 0);
}

int raw_openat(int dirfd, const char *path, int flags, unsigned mode)
{
	return (int)raw_call(SYS_openat, dirfd, (long)path, flags, mode, 0, 0);
}

int raw_close(int fd)
{
	return (int)raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
}
