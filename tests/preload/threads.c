/* SPDX-License-Identifier: MIT */
/* The program of threads.sh: each case by its name, on a data set in MNT. Says what is wrong, and ends with 1 then. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) ((what) ? (void)0 : wrong(__LINE__, #what))

static void wrong(int line, const char *what)
{
	fprintf(stderr, "threads.c:%d: not so: %s (errno %d)\n", line, what, errno);
	_exit(1);
}

static int open_file(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", getenv("MNT"), name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The file says its own name. */
static int says(int fd, const char *name)
{
	char text[64];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = 0;
	return !strcmp(text, name);
}

/* --- numbers --- */

static pthread_barrier_t both;

static void *in_a_table_of_its_own(void *unused)
{
	int fd;

	CHECK(close_range(100000, 100001, CLOSE_RANGE_UNSHARE) == 0);
	fd = open_file("longer name");
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	CHECK(says(fd, "longer name"));
	return unused;
}

/* The same number is one file here and another one there. */
static void case_unshare(void)
{
	pthread_t thread;
	int fd;

	pthread_barrier_init(&both, NULL, 2);
	close(open_file("a"));
	pthread_create(&thread, NULL, in_a_table_of_its_own, NULL);
	pthread_barrier_wait(&both);
	fd = open_file("b");
	pthread_barrier_wait(&both);
	CHECK(says(fd, "b"));
	pthread_join(thread, NULL);
}

/* A file that gets the number of a descriptor that the program did not know of is the program's. */
static void case_system_close(void)
{
	int last = 0;

	close(open_file("a"));
	CHECK(syscall(SYS_close_range, 3u, ~0u, 0) == 0);
	for (int i = 0; i < 600; i++)
		CHECK((last = open("/dev/null", O_RDONLY)) >= 0);
	if (fork() == 0) {
		close(open_file("a"));
		for (int fd = 3; fd <= last; fd++)
			CHECK(fcntl(fd, F_GETFD) >= 0);
		_exit(0);
	}
	wait(NULL);
	for (int fd = 3; fd <= last; fd++)
		CHECK(close(fd) == 0);
}

/* All numbers are taken, and the limit cannot be raised. */
static void case_limit(void)
{
	const struct rlimit limit = { 100, 100 };
	int fd, first;

	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	first = open_file("a");
	while ((fd = open_file("b")) >= 0) {
		/* until there is none */
	}
	CHECK(errno == EMFILE);
	for (fd = first; fd < first + 5; fd++)
		CHECK(mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
}

/* A list that is longer than there are placeholders. */
static void case_long_list(void)
{
	static struct pollfd list[20000];
	const size_t last = sizeof(list) / sizeof(*list) - 1;
	volatile nfds_t too_many = 1 << 30;
	struct rlimit limit = { last + 1, last + 1 };

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	for (size_t i = 0; i < last; i++)
		list[i].fd = -1;
	list[last] = (struct pollfd){ .fd = open_file("a"), .events = POLLIN };
	CHECK(poll(list, last + 1, 0) == 1 && list[last].revents == POLLIN);
	CHECK(poll(list, too_many, 0) < 0 && errno == EINVAL);
}

/* --- children, signals, confinement --- */

/* The first file of the process is opened by a child that has its memory. */
static void case_vfork(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(open("/dev/null", O_RDONLY) < 0);
	waitpid(child, NULL, 0);
	CHECK(says(open_file("a"), "a"));
}

static volatile int signals, opened_by_handler = -1;

static void open_in_handler(int unused)
{
	int fd = open("/dev/null", O_RDONLY);

	(void)unused;
	signals++;
	if (fd >= 100)
		opened_by_handler = fd;
	else
		close(fd);
}

static void every(long nanoseconds, void (*handler)(int))
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	const struct itimerspec time = { { 0, nanoseconds }, { 0, nanoseconds } };
	const struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	timer_t timer;

	sigaction(SIGUSR1, &action, NULL);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &time, NULL) == 0);
}

static void read_large(void)
{
	char byte;
	int fd = open_file("large");

	CHECK(read(fd, &byte, 1) == 1 && close(fd) == 0);
}

/* A file that a signal handler opens in the middle of a call is the program's, with the first number that is free. */
static void case_handler(void)
{
	every(50000, open_in_handler);
	while (signals < 1000 && opened_by_handler < 0)
		read_large();
	CHECK(opened_by_handler < 0);
}

static void leave(int unused)
{
	(void)unused;
	_exit(0);
}

/* The report comes all the same. */
static void case_exit_in_handler(void)
{
	read_large();
	every(3000000, leave);
	for (;;)
		read_large();
}

static void case_strict(void)
{
	char text[2];
	int fd = open_file("a");

	prctl(PR_SET_SECCOMP, 1 /* SECCOMP_MODE_STRICT */);
	syscall(SYS_exit, read(fd, text, 2) == 1 && text[0] == 'a' ? 0 : 1);
}

/* --- threads --- */

static void *open_and_read(void *unused)
{
	int fd = open_file("a");

	CHECK(says(fd, "a") && close(fd) == 0);
	return unused;
}

static void case_small_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	CHECK(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
	CHECK(pthread_create(&thread, &attributes, open_and_read, NULL) == 0);
	pthread_join(thread, NULL);
}

static _Atomic int is_constructed;

static void *first(void *unused)
{
	while (!is_constructed)
		sched_yield();
	return open_and_read(unused);
}

/* Of the library that threads.sh makes; the other thread has come so far that it opens the data set. */
void from_constructor(void)
{
	is_constructed = 1;
	poll(NULL, 0, 100);
	open_and_read(NULL);
}

static void case_constructor(void)
{
	pthread_t thread;

	close(open("/dev/null", O_RDONLY));
	pthread_create(&thread, NULL, first, NULL);
	CHECK(dlopen("./constructor.so", RTLD_NOW));
	pthread_join(thread, NULL);
}

/* The daemon is stopped. A thread asks it for a file; others open what is not of the mount. */
static void case_stopped_daemon(void)
{
	pid_t server = atoi(getenv("SERVER"));
	pthread_t thread;

	close(open("/dev/null", O_RDONLY));
	kill(server, SIGSTOP);
	pthread_create(&thread, NULL, open_and_read, NULL);
	poll(NULL, 0, 100);
	for (int i = 0; i < 20; i++, poll(NULL, 0, 1))
		close(open("/dev/null", O_RDONLY));
	kill(server, SIGCONT);
	pthread_join(thread, NULL);
}

static _Atomic pid_t opener;
static char *opener_stack;
static volatile int stops;

/* As a collector of garbage stops a thread. */
static void stop(int unused)
{
	char here;
	ptrdiff_t deep = opener_stack - &here;

	(void)unused;
	CHECK(deep > 0 && deep < 8 << 20);
	stops++;
}

static void *open_slowly(void *unused)
{
	char here;

	opener_stack = &here;
	opener = gettid();
	raise(SIGPWR);
	return open_and_read(unused);
}

/* Its stack is the one that it was given. */
static void case_collector(void)
{
	const struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };
	pid_t server = atoi(getenv("SERVER"));
	pthread_t thread;

	sigaction(SIGPWR, &action, NULL);
	kill(server, SIGSTOP);
	pthread_create(&thread, NULL, open_slowly, NULL);
	while (!opener)
		sched_yield();
	for (int i = 0; i < 20; i++, poll(NULL, 0, 5))
		tgkill(getpid(), opener, SIGPWR);
	kill(server, SIGCONT);
	pthread_join(thread, NULL);
	CHECK(stops > 0);
}

static void *seek_when_canceled(void *fd)
{
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	lseek(*(int *)fd, 0, SEEK_SET);
	fstat(*(int *)fd, &(struct stat){ 0 });
	return fd;
}

static void case_cancel(void)
{
	int fd = open_file("a");
	pthread_t thread;
	void *result;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&thread, NULL, seek_when_canceled, &fd);
	pthread_barrier_wait(&both);
	pthread_cancel(thread);
	pthread_barrier_wait(&both);
	pthread_join(thread, &result);
	CHECK(result == &fd);
}

static void *read_often(void *unused)
{
	for (int i = 0; i < 20; i++)
		open_and_read(NULL);
	return unused;
}

static void case_many(void)
{
	pthread_t threads[500];
	pthread_attr_t attributes;
	int count = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 131072);
	while (count < 500 && pthread_create(&threads[count], &attributes, read_often, NULL) == 0)
		count++;
	CHECK(count > 10);
	while (count)
		pthread_join(threads[--count], NULL);
}

/* So little that threads get no buffers. */
static void case_little_memory(void)
{
	const struct rlimit limit = { 60 << 20, 60 << 20 };

	setrlimit(RLIMIT_AS, &limit);
	case_many();
}

/* None is left for the report. */
static void case_no_memory(void)
{
	const struct rlimit limit = { 0, 0 };

	open_and_read(NULL);
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	CHECK(mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

/* --- paths and memory --- */

/* The directory is the one below a mountpoint. */
static void case_covered(void)
{
	CHECK(says(open("a", O_RDONLY), "below the mount"));
}

static void case_long_path(void)
{
	char path[10000];
	int length = snprintf(path, 1000, "%s", getenv("MNT"));

	memset(path + length, '/', 5000);
	strcpy(path + length + 5000, "a");
	CHECK(open(path, O_RDONLY) < 0 && errno == ENAMETOOLONG);
}

/* Files of the data set that are named as numbers are: nothing that is open is looked for by them. */
static void case_numbers_as_names(void)
{
	int fd = open_file("a"), other;
	char name[16];

	CHECK(fd >= 3 && chdir(getenv("MNT")) == 0);
	snprintf(name, sizeof(name), "%d", fd);
	other = open(name, O_RDONLY);
	CHECK(says(other, name) && says(fd, "a"));
}

/* Beginnings of files that stay open. */
static void case_kept(void)
{
	struct rusage before, after;
	char byte;

	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < 60; i++)
		CHECK(read(open_file("large"), &byte, 1) == 1);
	getrusage(RUSAGE_SELF, &after);
	CHECK(after.ru_maxrss - before.ru_maxrss < 100 << 10);
}

#define CASE(name) { #name, case_##name }

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(numbers_as_names), CASE(unshare), CASE(system_close), CASE(limit), CASE(long_list), CASE(vfork),
	CASE(handler), CASE(exit_in_handler), CASE(strict), CASE(small_stack), CASE(constructor),
	CASE(stopped_daemon), CASE(collector), CASE(cancel), CASE(many), CASE(little_memory), CASE(no_memory),
	CASE(covered), CASE(long_path), CASE(kept),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	return 2;
}
