/* SPDX-License-Identifier: MIT */
/* Numbers that are closed and used again, children of every kind, and who changes what a process may see. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

pid_t __fork(void);
typeof(clone) __clone;
pid_t __vfork(void) __attribute__((returns_twice));
int capset(struct __user_cap_header_struct *header, const struct __user_cap_data_struct *sets);
FILE *_IO_popen(const char *command, const char *mode);

/* The number is another file now: what is read must be of that. */
static long reused(int fd)
{
	int other = open(calls_other, O_RDONLY);

	if (other != fd)
		dup2(other, fd);
	return read(fd, bytes, 100) + fstat(fd, (struct stat *)(bytes + 1000));
}

static long replaced(int fd, const char *path)
{
	int other = open(path, O_RDWR | O_CLOEXEC), ret = dup2(other, fd);

	close(other);
	return ret < 0 ? ret : read(fd, bytes, 100);
}

static long piped(int fd)
{
	int ends[2];

	close(fd);
	if (pipe(ends) < 0 || write(ends[1], "from the pipe", 13) != 13)
		return -2;
	long ret = read(ends[0], bytes, 100);
	close(ends[0]);
	close(ends[1]);
	return ret;
}

static long closed_by_stream(int fd)
{
	FILE *file = fdopen(fd, "r");

	fgetc(file);
	fclose(file);
	return reused(fd);
}

void calls_numbers(void)
{
	CALL("close_range", close_range(fd, fd, 0))
	CALL("close_range, reused", (close_range(fd, fd, 0), reused(fd)))
	CALL("close_range, piped", (close_range(fd, fd, 0), piped(fd)))
	CALL("close_range CLOEXEC", (close_range(fd, fd, CLOSE_RANGE_CLOEXEC), fcntl(fd, F_GETFD)))
	CALL("close_range backwards", close_range(fd, fd - 1, 0))
	CALL("close_range unknown", close_range(fd, fd, 1 << 30))
	CHILD("close_range UNSHARE", close_range(fd, fd, CLOSE_RANGE_UNSHARE))
	CHILD("close_range all", close_range(3, ~0u, 0))
	CHILD("close_range all, reused", (close_range(3, ~0u, 0), reused(fd)))
	CHILD("close_range others", close_range(fd + 1, ~0u, 0) + reused(fd))
	CHILD("closefrom", (closefrom(3), fcntl(fd, F_GETFD)))
	CHILD("closefrom, reused", (closefrom(3), reused(fd)))
	CHILD("closefrom behind it", (closefrom(fd + 1), read(fd, bytes, 100)))
	CALL("dup2 over it", reused(fd))
	CALL("dup2 /dev/null over it", replaced(fd, "/dev/null"))
	CALL("dup2 /dev/zero over it", replaced(fd, "/dev/zero"))
	CALL("dup2 of it over another", (dup2(fd, open(calls_other, O_RDONLY)), calls_drain(fd + 1)))
	CALL("dup3 over it", (dup3(open(calls_other, O_RDONLY), fd, O_CLOEXEC), close(fd + 1), read(fd, bytes, 100)))
	CALL("close, reused", (close(fd), reused(fd)))
	CALL("close, piped", piped(fd))
	CALL("fclose, reused", closed_by_stream(fd))
	CALL("close, opened again", (close(fd), open(calls_file, O_RDONLY)))
	CALL("close, opened O_PATH", (close(fd), open(calls_file, O_PATH)))
	CALL("close, opened a folder", (close(fd), open("/", O_RDONLY)))
}

/* A read by a child moves the parent's position. */
static int child_reads(int fd)
{
	char part[10];

	return read(fd, part, sizeof(part)) + part[0];
}

static long forked(int fd, int how)
{
	pid_t child = how == 0 ? fork() : how == 1 ? __fork() : how == 2 ? _Fork() : how == 3 ? vfork() : __vfork();

	if (child == 0)
		_exit(how >= 3 ? 7 : child_reads(fd));
	return calls_wait(child);
}

static long forked_twice(int fd)
{
	pid_t child = fork();

	if (child == 0)
		_Exit(forked(fd, 0) + child_reads(fd));
	return calls_wait(child);
}

static int cloned_child(void *argument)
{
	return child_reads(*(int *)argument);
}

static long cloned(int fd, int flags, typeof(clone) *make)
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	return calls_wait(make(cloned_child, stack + sizeof(stack), flags | SIGCHLD, &fd));
}

/* The program that reads the number as its standard input: its output is noted from the file 'scratch'. */
static char *const reader[] = { "sh", "-c", "dd bs=11 count=1 2>/dev/null; cat /proc/self/fd/0 | cksum", NULL };
static char *const by_number[] = { "sh", "-c", "head -c 20 <&$number | cksum", NULL };

static long executed(int fd, int how)
{
	int scratch = calls_scratch(), status;
	pid_t child = how % 2 ? vfork() : fork();

	if (child == 0) {
		if (dup2(fd, 0) < 0 || dup2(scratch, 1) < 0)
			_exit(99);
		if (how < 2)
			execve("/bin/sh", reader, environ);
		if (how < 4)
			execv("/bin/sh", reader);
		if (how < 5)
			execlp("sh", "sh", "-c", reader[2], NULL);
		if (how < 6)
			execvp("sh", reader);
		if (how < 7)
			execl("/bin/sh", "sh", "-c", reader[2], NULL);
		execle("/bin/sh", "sh", "-c", reader[2], NULL, environ);
		_exit(98);
	}
	status = calls_wait(child);
	return calls_scratch_end(scratch, status);
}

static void name_number(int fd)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", fd);
	setenv("number", text, 1);
}

/* The child has the number itself, unless it is to be closed on exec. */
static long inherited(int fd, int flags)
{
	int scratch = calls_scratch(), status;
	pid_t child;

	name_number(fd);
	fcntl(fd, F_SETFD, flags);
	child = fork();
	if (child == 0) {
		dup2(scratch, 1);
		close(2);
		execvpe("sh", by_number, environ);
		_exit(98);
	}
	status = calls_wait(child);
	return calls_scratch_end(scratch, status);
}

static long spawned(int fd, bool with_path)
{
	posix_spawn_file_actions_t actions;
	int scratch = calls_scratch(), error;
	pid_t child = -1;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, 0);
	posix_spawn_file_actions_adddup2(&actions, scratch, 1);
	posix_spawn_file_actions_addclose(&actions, fd);
	if (with_path)
		posix_spawn_file_actions_addopen(&actions, 0, calls_other, O_RDONLY, 0);
	error = with_path ? posix_spawnp(&child, "sh", &actions, NULL, reader, environ) :
			    posix_spawn(&child, "/bin/sh", &actions, NULL, reader, environ);
	posix_spawn_file_actions_destroy(&actions);
	error = error ? -error : calls_wait(child);
	return calls_scratch_end(scratch, error);
}

static long shell(int fd)
{
	name_number(fd);
	return system("head -c 15 <&$number >scratch") + calls_scratch_end(open("scratch", O_RDWR), 0);
}

static long from_program(int fd, FILE *(*open_program)(const char *command, const char *mode))
{
	FILE *file;
	long ret;

	name_number(fd);
	file = open_program("head -c 15 <&$number", "r");
	if (!file)
		return -1;
	ret = fread(bytes, 1, 100, file);
	return ret + 1000 * pclose(file);
}

static long expanded(int fd)
{
	wordexp_t words = { .we_wordc = 0 };
	long ret;

	name_number(fd);
	ret = wordexp("$(head -c 15 <&$number | cksum)", &words, 0);
	for (size_t i = 0; ret == 0 && i < words.we_wordc; i++)
		calls_note(words.we_wordv[i], strlen(words.we_wordv[i]));
	wordfree(&words);
	return ret;
}

static long on_terminal(int fd)
{
	int terminal;
	pid_t child = forkpty(&terminal, NULL, NULL, NULL);

	if (child == 0)
		_exit(child_reads(fd));
	if (child < 0)
		return -1;
	child = calls_wait(child);
	close(terminal);
	return child;
}

/* It reads in a process that nobody waits for; a pipe tells when it has ended. */
static long in_background(int fd)
{
	int ends[2];
	pid_t child;
	long ret;

	if (pipe(ends) < 0)
		return -2;
	child = fork();
	if (child == 0) {
		if (daemon(1, 0) < 0)
			_exit(1);
		ret = read(fd, bytes, 10);
		_exit(write(ends[1], bytes, ret) < 0);
	}
	close(ends[1]);
	ret = calls_wait(child);
	ret += read(ends[0], bytes, 100);
	close(ends[0]);
	return ret;
}

static long program(int fd, bool by_path)
{
	char *const none[] = { "none", NULL };

	return by_path ? execveat(fd, "", none, environ, AT_EMPTY_PATH) : fexecve(fd, none, environ);
}

static void forks(void)
{
	CALL("fork", forked(fd, 0))
	CALL("__fork", forked(fd, 1))
	CALL("_Fork", forked(fd, 2))
	CALL("vfork", forked(fd, 3))
	CALL("__vfork", forked(fd, 4))
	CALL("fork in a fork", forked_twice(fd))
	CALL("clone", cloned(fd, 0, clone))
	CALL("__clone", cloned(fd, 0, __clone))
	CALL("clone CLONE_FILES", cloned(fd, CLONE_FILES, clone))
	CALL("clone CLONE_VM", cloned(fd, CLONE_VM | CLONE_VFORK, clone))
	CHILD("fork in a child", forked(fd, 0))
	CALL("forkpty", on_terminal(fd))
	CALL("daemon", in_background(fd))
}

void calls_processes(void)
{
	forks();
	CALL("fork, execve", executed(fd, 0))
	CALL("vfork, execve", executed(fd, 1))
	CALL("fork, execv", executed(fd, 2))
	CALL("vfork, execv", executed(fd, 3))
	CALL("fork, execlp", executed(fd, 4))
	CALL("vfork, execvp", executed(fd, 5))
	CALL("fork, execl", executed(fd, 6))
	CALL("vfork, execle", executed(fd, 7))
	CALL("execvpe with it", inherited(fd, 0))
	CALL("execvpe without it", inherited(fd, FD_CLOEXEC))
	CALL("posix_spawn", spawned(fd, false))
	CALL("posix_spawnp", spawned(fd, true))
	CALL("system", shell(fd))
	CALL("popen", from_program(fd, popen))
	CALL("_IO_popen", from_program(fd, _IO_popen))
	CALL("wordexp", expanded(fd))
	CHILD("fexecve", program(fd, false))
	CHILD("execveat", program(fd, true))
}

/* Both what was open before and what is opened now. */
static long afterwards(long ret)
{
	calls_note(&ret, sizeof(ret));
	calls_drain(open(calls_other, O_RDONLY));
	return ret;
}

static long joined(int flags)
{
	int space = open("/proc/self/ns/mnt", O_RDONLY);
	long ret = setns(space, flags);

	close(space);
	return ret;
}

static long without_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { { .effective = 0 } };

	return capset(&header, sets);
}

void calls_off(void)
{
	CHILD("unshare CLONE_FILES", afterwards(unshare(CLONE_FILES)))
	CHILD("unshare CLONE_FS", afterwards(unshare(CLONE_FS)))
	CHILD("unshare CLONE_NEWNS", afterwards(unshare(CLONE_NEWNS)))
	CHILD("setns", afterwards(joined(CLONE_NEWNS)))
	CHILD("chroot", afterwards(chroot("/")))
	CHILD("chroot elsewhere", afterwards(chroot(".")))
	CHILD("setuid", afterwards(setuid(getuid())))
	CHILD("setuid 65534", afterwards(setuid(65534)))
	CHILD("seteuid 65534", afterwards(seteuid(65534)))
	CHILD("seteuid and back", afterwards(seteuid(65534) + seteuid(0)))
	CHILD("setreuid", afterwards(setreuid(65534, 65534)))
	CHILD("setresuid", afterwards(setresuid(65534, 65534, 65534)))
	CHILD("setfsuid", afterwards(setfsuid(65534)))
	CHILD("setgid", afterwards(setgid(65534)))
	CHILD("setegid", afterwards(setegid(65534)))
	CHILD("setregid", afterwards(setregid(65534, 65534)))
	CHILD("setresgid", afterwards(setresgid(65534, 65534, 65534)))
	CHILD("setfsgid", afterwards(setfsgid(65534)))
	CHILD("setgroups", afterwards(setgroups(0, NULL)))
	CHILD("capset", afterwards(without_capabilities()))
	CHILD("prctl", afterwards(prctl(PR_SET_SECCOMP, 7)))
	CHILD("initgroups", afterwards(initgroups("root", 0)))
}
