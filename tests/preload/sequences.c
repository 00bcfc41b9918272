/* SPDX-License-Identifier: MIT */
/* Random sequences of calls on files of a mount, and what each call answered.
 *
 * usage: sequences tree DIRECTORY
 *        sequences run TOP OPTIONS
 *        sequences compare TOP TOP OPTIONS
 *
 * tree makes what is packed. run does sequences on TOP/mnt, a line for each: its seed, how it ended, length and hash of
 * its log. It makes TOP/outside. compare runs the same on two sides, and of the first sequence that differs shows the
 * fewest calls that do.
 *
 * --seed N --count N   the sequences N, N + 1 …
 * --cases              the fixed sequences instead, which are counted from 0
 * --log                all calls as well
 * --skip I,J…          these calls of each sequence are left out
 * --warm               files were read before the first sequence
 * --preload LIBRARY    into the second side
 *
 * To add a call: a function in one of sequences_*.c, and its row with a weight in the table at the end of that file. It
 * takes its arguments from choose_…(), sets errno to 0, makes the call, and logs with log_result() or log_bytes(). Its
 * log must not vary: no address, no process number, no inode of another filesystem. Afterwards
 * 'PRELOAD= LENGTH=100000 tests/run --quick preload/sequences.sh' must find no difference between the mount and
 * itself. A sequence that once differed becomes a function in sequences_cases.c. */
#include "sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sequences_compare.h"

#define LONGEST 400u /* calls of a sequence */

struct state state;

static const struct call *const groups[] = { calls_open,   calls_read,    calls_stat, calls_table,
					     calls_stream, calls_process, calls_map,  calls_other };
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static uint64_t seed;
static bool are_cases;
static bool is_skipped[LONGEST];
static unsigned enabled[GROUPS][16]; /* the weight of each call in this sequence */

/* Each sequence is about some of the calls: so these come together more often. */
static void enable_calls(void)
{
	for (unsigned group = 0; group < GROUPS; group++)
		for (unsigned i = 0; groups[group][i].run; i++)
			enabled[group][i] = chance(40) ? groups[group][i].weight : 0;
}

static const struct call *any_call(void)
{
	unsigned total = 0, at;

	/* First of all a file is opened, and now and then another one. */
	if (chance(raw_is_open(3) ? 10 : 60))
		return &calls_open[0];
	for (unsigned group = 0; group < GROUPS; group++)
		for (unsigned i = 0; groups[group][i].run; i++)
			total += enabled[group][i];
	at = (unsigned)choose(total + 1);
	for (unsigned group = 0; group < GROUPS; group++)
		for (unsigned i = 0; groups[group][i].run; i++) {
			if (at < enabled[group][i])
				return &groups[group][i];
			at -= enabled[group][i];
		}
	return &calls_open[0];
}

/* A call depends on the seed, its number and the descriptors there are: without others, it stays what it is. */
void sequence_run(unsigned end)
{
	while (state.next < end && state.next < state.count) {
		state.call = state.next++;
		if (is_skipped[state.call])
			continue;
		choose_seed(seed, state.call + 1);
		errno = 0;
		any_call()->run();
	}
}

static void sequence_main(void)
{
	char path[4300];

	alarm(30);
	signal(SIGPIPE, SIG_IGN);
	choose_seed(seed, 0);
	state.count = chance(5) ? 100 + (unsigned)choose(LONGEST - 100) : 4 + (unsigned)choose(36);
	enable_calls();
	tree_choose();
	snprintf(path, sizeof(path), "%s/mnt", state.top);
	if (chdir(path) != 0)
		log_line("chdir");
	if (are_cases)
		cases[seed].run();
	else
		sequence_run(state.count);
}

static void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("sequences: no memory");
		exit(1);
	}
	return memory;
}

static void side_begin(const char *top)
{
	char path[4300];
	struct stat mount, above;

	if (!realpath(top, state.top) || readlink("/proc/self/exe", state.self, sizeof(state.self) - 1) <= 0) {
		fprintf(stderr, "sequences: no folder '%s': %s\n", top, strerror(errno));
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/mnt", state.top);
	if (stat(path, &mount) != 0 || stat(state.top, &above) != 0 || mount.st_dev == above.st_dev) {
		fprintf(stderr, "sequences: expected a mount at '%s', there is none\n", path);
		exit(1);
	}
	state.device = mount.st_dev;
	state.log = shared_memory(sizeof(*state.log));
	state.buffer = shared_memory(ROOM + 8192);
	for (int fd = 3; fd < HIGHEST; fd++)
		close(fd);
	close(0);
	open("/dev/null", O_RDONLY);
	umask(022);
}

/* Children inherit what the library did for their parent. */
static void side_warm_up(void)
{
	static const char *const names[] = { "small", "dir/8k", "dir/text", "in" };
	char path[4300];

	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/mnt/%s", state.top, names[i]);
		int fd = open(path, O_RDONLY);

		if (read(fd, state.buffer, 5000) < 0)
			perror(path);
		close(fd);
	}
}

static void side_run_one(bool with_log)
{
	int status = 0;
	pid_t pid;

	state.log->length = 0;
	state.next = 0;
	pid = fork();
	if (pid == 0) {
		sequence_main();
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (state.log->has_changes)
		outside_reset();
	if (with_log)
		fwrite(state.log->text, 1, state.log->length, stdout);
	printf("end %" PRIu64 " status %#x length %zu #%016" PRIx64 "\n", seed, (unsigned)status, state.log->length,
	       log_hash(0, state.log->text, state.log->length));
	fflush(stdout);
}

static void skip_calls(const char *list)
{
	for (const char *at = list; *at; at += strspn(at, ",")) {
		unsigned long number = strtoul(at, (char **)(uintptr_t)&at, 10);

		if (number < LONGEST)
			is_skipped[number] = true;
	}
}

static int side_main(const char *top, const struct options *options)
{
	skip_calls(options->skip);
	side_begin(top);
	outside_reset();
	if (options->is_warm)
		side_warm_up();
	are_cases = options->are_cases;
	for (uint64_t i = 0; i < options->count; i++) {
		seed = options->seed + i;
		side_run_one(options->with_log);
	}
	return 0;
}

static bool options_read(int argc, char **argv, struct options *ret)
{
	static const struct option names[] = { { "seed", 1, NULL, 's' },    { "count", 1, NULL, 'n' },
					       { "log", 0, NULL, 'l' },     { "skip", 1, NULL, 'k' },
					       { "preload", 1, NULL, 'p' }, { "warm", 0, NULL, 'w' },
					       { "cases", 0, NULL, 'c' },   { NULL, 0, NULL, 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) >= 0)
		switch (option) {
		case 's':
			ret->seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			ret->count = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			ret->with_log = true;
			break;
		case 'k':
			ret->skip = optarg;
			break;
		case 'p':
			ret->preload = optarg;
			break;
		case 'c':
			ret->are_cases = true;
			break;
		case 'w':
			ret->is_warm = true;
			break;
		default:
			return false;
		}
	return true;
}

static uint64_t count_cases(void)
{
	uint64_t count = 0;

	while (cases[count].run)
		count++;
	return count;
}

int main(int argc, char **argv)
{
	struct options options = { .count = 0, .skip = "" };
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "reader") == 0)
		return reader_main(argc, argv);
	if (!options_read(argc, argv, &options))
		return 2;
	if (options.count == 0)
		options.count = options.are_cases ? count_cases() - options.seed : 1;
	if (strcmp(verb, "tree") == 0 && argc - optind == 2)
		return tree_make(argv[optind + 1]);
	if (strcmp(verb, "run") == 0 && argc - optind == 2)
		return side_main(argv[optind + 1], &options);
	if (strcmp(verb, "compare") == 0 && argc - optind == 3)
		return compare_main(argv + optind + 1, &options);
	fprintf(stderr, "usage: sequences tree DIRECTORY | run TOP | compare TOP TOP, see the top of sequences.c\n");
	return 2;
}
