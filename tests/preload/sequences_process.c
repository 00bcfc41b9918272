/* SPDX-License-Identifier: MIT */
/* Calls of sequences that share descriptors: with children, with programs, over a socket, among threads. */
#include "sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The program that inherits a descriptor: what it finds there, on its stdout. */
int reader_main(int argc, char **argv)
{
	static uint8_t bytes[1 << 16];
	int fd = argc == 4 ? atoi(argv[2]) : -1;
	bool is_bare = argc == 4 && strcmp(argv[3], "bare") == 0;
	struct stat attributes = { .st_mode = 0 };
	uint64_t hash = 0, total = 0;
	char line[200];
	int64_t offset, result;

	offset = is_bare ? raw_call(SYS_lseek, fd, 0, SEEK_CUR, 0, 0, 0) : lseek(fd, 0, SEEK_CUR);
	result = is_bare ? raw_stat(fd, &attributes) : fstat(fd, &attributes);
	alarm(20);
	for (size_t size = 100; result >= 0 && S_ISREG(attributes.st_mode); size = sizeof(bytes)) {
		result = is_bare ? raw_call(SYS_read, fd, (long)bytes, (long)size, 0, 0, 0) : read(fd, bytes, size);
		if (result <= 0 || total > 1u << 20)
			break;
		hash = log_hash(hash, bytes, (size_t)result);
		total += (uint64_t)result;
	}
	snprintf(line, sizeof(line), "offset %lld mode %o bytes %llu #%08x %s", offset < 0 ? -1ll : (long long)offset,
		 attributes.st_mode, (unsigned long long)total, (unsigned)hash, result < 0 ? "error" : "end");
	return raw_call(SYS_write, 1, (long)line, (long)strlen(line), 0, 0, 0) > 0 ? 0 : 3;
}

static void log_waited(pid_t pid, const char *what)
{
	int status = 0;

	if (pid < 0) {
		log_result(-1, "%s", what);
		return;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	errno = 0;
	log_line("%s: status %#x", what, (unsigned)status);
}

/* It must not outlive the sequence. */
static void child_begin(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(20);
	state.is_child = true;
}

/* The next calls are the child's, with what it has inherited; the parent goes on behind them. */
static void fork_child(void)
{
	unsigned end = state.next + 1 + (unsigned)choose(6);
	bool is_plain = chance(80);
	pid_t pid;

	errno = 0;
	pid = is_plain ? fork() : _Fork();
	if (pid == 0) {
		child_begin();
		sequence_run(end);
		_exit(0);
	}
	log_waited(pid, is_plain ? "fork" : "_Fork");
	state.next = end;
}

/* The text that the reader wrote, and how it ended. */
static void log_reader(pid_t pid, int pair[2], const char *what, int fd)
{
	char text[300];
	long length;

	raw_close(pair[1]);
	length = raw_call(SYS_read, pair[0], (long)text, sizeof(text) - 1, 0, 0, 0);
	text[length > 0 ? length : 0] = 0;
	raw_close(pair[0]);
	log_line("%s, reader of %d: '%s'", what, fd, text);
	log_waited(pid, what);
}

static bool reader_pipe(int pair[2])
{
	errno = 0;
	return raw_call(SYS_pipe2, (long)pair, O_CLOEXEC, 0, 0, 0, 0) == 0;
}

/* A child that becomes the reader. */
struct reader_child {
	int fd, pair[2];
	bool is_stdin;
	char number[16];
	char *argv[5];
};

static bool reader_child_choose(struct reader_child *child)
{
	child->fd = choose_regular();
	child->is_stdin = chance(50);
	snprintf(child->number, sizeof(child->number), "%d", child->is_stdin ? 0 : child->fd);
	child->argv[0] = state.self;
	child->argv[1] = (char *)(uintptr_t) "reader";
	child->argv[2] = child->number;
	child->argv[3] = (char *)(uintptr_t)(chance(50) ? "bare" : "libc");
	child->argv[4] = NULL;
	return reader_pipe(child->pair);
}

static void reader_child_connect(const struct reader_child *child)
{
	if (dup2(child->pair[1], 1) < 0 || (child->is_stdin && dup2(child->fd, 0) < 0))
		_exit(8);
}

static void fork_reader(void)
{
	struct reader_child child;
	pid_t pid;

	if (!reader_child_choose(&child))
		return;
	pid = fork();
	if (pid == 0) {
		child_begin();
		reader_child_connect(&child);
		execve(state.self, child.argv, environ);
		_exit(9);
	}
	log_reader(pid, child.pair, child.is_stdin ? "fork and exec with it as stdin" : "fork and exec", child.fd);
}

/* The child has the parent's memory, and must leave the parent's table as it is. */
static void vfork_reader(void)
{
	struct reader_child child;
	pid_t pid;

	if (!reader_child_choose(&child))
		return;
	pid = vfork();
	if (pid == 0) {
		reader_child_connect(&child);
		if (!child.is_stdin)
			fcntl(child.fd, F_SETFD, 0);
		else
			close(child.fd);
		execve(state.self, child.argv, environ);
		_exit(9);
	}
	log_reader(pid, child.pair, child.is_stdin ? "vfork and exec with it as stdin" : "vfork and exec", child.fd);
}

static void spawn_reader(void)
{
	int fd = choose_regular(), pair[2], result;
	char number[16] = "0";
	char *argv[] = { state.self, (char *)(uintptr_t) "reader", number,
			 (char *)(uintptr_t)(chance(50) ? "bare" : "libc"), NULL };
	unsigned kind = (unsigned)choose(3);
	posix_spawn_file_actions_t actions;
	struct place place;
	pid_t pid = -1;

	choose_path(&place);
	if (!reader_pipe(pair))
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
	if (kind == 0)
		posix_spawn_file_actions_adddup2(&actions, fd, 0);
	else if (kind == 1)
		posix_spawn_file_actions_addopen(&actions, 0, place.path, O_RDONLY, 0);
	else
		snprintf(number, sizeof(number), "%d", fd);
	errno = 0;
	result = chance(50) ? posix_spawn(&pid, state.self, &actions, NULL, argv, environ) :
			      posix_spawnp(&pid, state.self, &actions, NULL, argv, environ);
	log_result(result, "posix_spawn kind %u, %d, '%s'", kind, fd, log_path(kind == 1 ? place.path : ""));
	posix_spawn_file_actions_destroy(&actions);
	if (result == 0) {
		log_reader(pid, pair, "posix_spawn", fd);
		return;
	}
	raw_close(pair[0]);
	raw_close(pair[1]);
}

/* dash knows numbers of one digit alone. */
static void shell_reader(void)
{
	int fd = choose_regular(), result;
	char command[4300], text[300] = "";
	FILE *output;

	if (fd < 0 || fd > 9)
		return;
	snprintf(command, sizeof(command), "exec 2>/dev/null; exec '%s' reader 0 libc <&%d", state.self, fd);
	errno = 0;
	if (chance(50)) {
		strcat(command, " >/dev/null");
		result = system(command);
		log_result(result, "system('reader <&%d')", fd);
		return;
	}
	output = popen(command, "r");
	if (!output) {
		log_result(-1, "popen");
		return;
	}
	log_line("popen('reader <&%d') %s", fd, fgets(text, sizeof(text), output) ? "a line" : "nothing");
	log_line("%s", text);
	log_result(pclose(output), "pclose");
}

/* A file that cannot be executed is refused, and the program goes on. */
static void execute_nothing(void)
{
	int fd = choose_regular();
	char *argv[] = { (char *)(uintptr_t) "none", NULL };
	pid_t pid;

	errno = 0;
	if (chance(50)) {
		log_result(execve("/nothing/here", argv, environ), "execve('/nothing/here')");
		return;
	}
	pid = fork();
	if (pid == 0) {
		child_begin();
		log_result(fexecve(fd, argv, environ), "fexecve(%d)", fd);
		_exit(0);
	}
	log_waited(pid, "fexecve");
}

static ssize_t send_descriptors(int socket, const int *numbers, unsigned count, bool is_many)
{
	union {
		char bytes[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec piece = { .iov_base = (void *)(uintptr_t) "x", .iov_len = 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &piece,
						.msg_iovlen = 1,
						.msg_control = control.bytes,
						.msg_controllen = CMSG_SPACE(count * sizeof(int)) } };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message.msg_hdr);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), numbers, count * sizeof(int));
	return is_many ? sendmmsg(socket, &message, 1, 0) : sendmsg(socket, &message.msg_hdr, 0);
}

static void receive_descriptors(int socket, unsigned count)
{
	union {
		char bytes[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = "" };
	char byte;
	struct iovec piece = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &piece,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	int flags = chance(50) ? MSG_CMSG_CLOEXEC : 0, numbers[4] = { -1, -1, -1, -1 };
	struct cmsghdr *header;

	errno = 0;
	log_result(recvmsg(socket, &message, flags), "recvmsg");
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(numbers, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	log_line("received %d %d %d", numbers[0], numbers[1], numbers[2]);
}

static void pass_descriptors(void)
{
	int numbers[3], pair[2];
	unsigned count = 1 + (unsigned)choose(3);
	ssize_t result;

	for (unsigned i = 0; i < count; i++)
		numbers[i] = choose_regular();
	errno = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0) {
		log_result(-1, "socketpair");
		return;
	}
	result = send_descriptors(pair[0], numbers, count, chance(30));
	log_result(result, "sendmsg of %u descriptors, the first is %d", count, numbers[0]);
	if (chance(40) && numbers[0] >= 3)
		log_result(close(numbers[0]), "close(%d)", numbers[0]);
	if (result > 0)
		receive_descriptors(pair[1], count);
	close(pair[0]);
	close(pair[1]);
}

#define ROUNDS 8u

struct reader {
	int fd; /* to read from, or -1: opens the paths itself */
	const char *paths[ROUNDS];
	int64_t offsets[ROUNDS];
	size_t sizes[ROUNDS];
	int64_t results[ROUNDS];
	unsigned hashes[ROUNDS];
	uint8_t bytes[20000];
};

static void *thread_main(void *argument)
{
	struct reader *reader = argument;
	struct stat attributes = { .st_size = 0 };

	for (unsigned i = 0; i < ROUNDS; i++) {
		int fd = reader->fd >= 0 ? reader->fd : open(reader->paths[i], O_RDONLY | O_CLOEXEC);

		if (reader->fd >= 0)
			reader->results[i] = pread(fd, reader->bytes, reader->sizes[i], reader->offsets[i]);
		else
			reader->results[i] =
				fstat(fd, &attributes) == 0 ? read(fd, reader->bytes, reader->sizes[i]) : -1;
		if (reader->results[i] > 0)
			reader->hashes[i] = (unsigned)log_hash((uint64_t)attributes.st_size, reader->bytes,
							       (size_t)reader->results[i]);
		if (reader->fd < 0 && fd >= 0)
			close(fd);
	}
	return NULL;
}

static void thread_prepare(struct reader *reader, int fd)
{
	reader->fd = fd;
	for (unsigned i = 0; i < ROUNDS; i++) {
		reader->paths[i] = state.pool[choose(POOL)];
		reader->offsets[i] = choose_offset(fd);
		reader->sizes[i] = choose(sizeof(reader->bytes));
		reader->hashes[i] = 0;
	}
}

/* A second thread at the same files as the first; what each finds does not depend on who comes first. */
static void use_threads(void)
{
	static struct reader readers[2];
	int fd = chance(60) ? choose_regular() : -1;
	struct rlimit limit;
	pthread_t thread;

	if (fd < 3)
		fd = -1;
	getrlimit(RLIMIT_NOFILE, &limit);
	if (fd < 0 && limit.rlim_cur < HIGHEST) /* who gets the last number depends on who comes first */
		return;
	for (unsigned t = 0; t < 2; t++)
		thread_prepare(&readers[t], fd);
	if (pthread_create(&thread, NULL, thread_main, &readers[1]) != 0)
		return;
	thread_main(&readers[0]);
	pthread_join(thread, NULL);
	for (unsigned t = 0; t < 2; t++)
		for (unsigned i = 0; i < ROUNDS; i++)
			log_line("thread %u at %d '%s': %lld #%08x", t, fd, fd < 0 ? log_path(readers[t].paths[i]) : "",
				 (long long)readers[t].results[i], readers[t].hashes[i]);
}

const struct call calls_process[] = {
	{ "fork", 8, fork_child },         { "exec", 2, fork_reader },    { "vfork", 2, vfork_reader },
	{ "spawn", 2, spawn_reader },      { "shell", 1, shell_reader },  { "execute", 2, execute_nothing },
	{ "rights", 8, pass_descriptors }, { "threads", 4, use_threads }, { NULL, 0, NULL },
};
