/* SPDX-License-Identifier: MIT */
/* Reads files by every call of stdio and by the plain calls, and prints what came: stdio FILE… */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static char space[1 << 16];

// A short sum: output is compared, so only equality counts.
static uint64_t sum(const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ at[i]) * 1099511628211u;
	return hash;
}

static void told(const char *what, long long result, size_t length)
{
	printf("%s: %lld %016llx %s\n", what, result, (unsigned long long)sum(space, length),
	       result < 0 ? strerror(errno) : "");
}

static void whole(FILE *file, size_t piece)
{
	uint64_t all = 0;
	size_t got, length = 0;

	while ((got = fread(space, 1, piece, file)) > 0) {
		all = all * 31 + sum(space, got);
		length += got;
	}
	printf("whole by %zu: %zu %016llx eof=%d error=%d tell=%ld\n", piece, length, (unsigned long long)all,
	       feof(file), ferror(file), ftell(file));
}

static void lines(FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	long count = 0, bytes = 0;

	rewind(file);
	while ((length = getline(&line, &room, file)) >= 0) {
		count++;
		bytes += length;
	}
	printf("getline: %ld lines, %ld bytes\n", count, bytes);
	rewind(file);
	length = getdelim(&line, &room, 'e', file);
	printf("getdelim: %zd, tell %ld\n", length, ftell(file));
	free(line);
	memset(space, 0, 200);
	printf("fgets: %d '%s'\n", fgets(space, 100, file) != NULL, space);
	int one = fgetc(file), pushed = one == EOF ? EOF : ungetc('Z', file), again = fgetc(file);
	printf("fgetc: %d %d %d\n", one, pushed, again);
}

static void formatted(FILE *file)
{
	char word[50] = "";
	int number = -1;
	double real = -1;

	rewind(file);
	for (int i = 0; i < 5; i++) {
		int got = fscanf(file, "%d %lf %49s", &number, &real, word);
		printf("fscanf: %d %d %g '%s' %ld\n", got, number, real, word, ftell(file));
	}
	int got = fscanf(file, "%49[a-z ]%n", word, &number);
	printf("fscanf set: %d '%s' %d\n", got, word, number);
}

static void seeks(FILE *file)
{
	static const struct {
		long offset;
		int whence;
	} to[] = {
		{ 0, SEEK_END },  { -7, SEEK_END },      { 100, SEEK_SET },  { 3, SEEK_CUR },    { -1, SEEK_CUR },
		{ -1, SEEK_SET }, { 1 << 20, SEEK_SET }, { 5000, SEEK_SET }, { 4096, SEEK_SET }, { 0, 9 },
	};
	fpos_t kept;

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		int rc = fseek(file, to[i].offset, to[i].whence);
		long where = ftell(file);
		printf("fseek %ld %d: %d %ld, then %d, fd at %ld\n", to[i].offset, to[i].whence, rc, where, fgetc(file),
		       (long)lseek(fileno(file), 0, SEEK_CUR) >= 0 ? 0L : -1L);
	}
	fseeko(file, 10, SEEK_SET);
	fgetpos(file, &kept);
	size_t got = fread(space, 10, 3, file);
	fsetpos(file, &kept);
	printf("fsetpos: %zu, %ld\n", got, ftello(file));
}

static void streams(const char *path)
{
	static const char *const modes[] = { "r", "rb", "re", "rm", "rc", "r+", "w", "a", "x", "", "r,ccs=UTF-8" };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		FILE *file = fopen(path, modes[i]);

		printf("fopen %s: %d %s\n", modes[i], file != NULL, file != NULL ? "" : strerror(errno));
		if (file == NULL)
			continue;
		printf("flags %o %o\n", fcntl(fileno(file), F_GETFL), fcntl(fileno(file), F_GETFD));
		if (strchr(modes[i], ',') != NULL) {
			wint_t wide = fgetwc(file);
			printf("fgetwc: %d, fwide %d\n", (int)wide, fwide(file, 0) > 0);
		} else {
			for (size_t piece = 7; piece <= sizeof(space); piece *= 90, rewind(file))
				whole(file, piece);
			lines(file);
			formatted(file);
			seeks(file);
		}
		printf("fclose: %d\n", fclose(file));
	}
}

static void buffers(const char *path)
{
	static char own[100];

	for (int kind = 0; kind < 3; kind++) {
		FILE *file = fopen(path, "r");
		int rc = setvbuf(file, kind == 1 ? own : NULL, (int[]){ _IONBF, _IOFBF, _IOLBF }[kind],
				 kind == 1 ? 100 : 0);
		size_t got = fread(space, 1, 30, file);

		printf("setvbuf: %d %zu, fd at %ld\n", rc, got, (long)lseek(fileno(file), 0, SEEK_CUR));
		fflush(file);
		printf("fflush: fd at %ld\n", (long)lseek(fileno(file), 0, SEEK_CUR));
		whole(file, 1000);
		printf("putc: %d %d\n", fputc('x', file), ferror(file) != 0);
		fclose(file);
	}
}

static void reopened(const char *path)
{
	FILE *file = freopen(path, "r", stdin);
	int first, second;

	printf("freopen: %d, number %d\n", file == stdin, fileno(stdin));
	first = getchar();
	second = getc_unlocked(stdin);
	printf("getchar: %d %d\n", first, second);
	whole(stdin, 4096);
	printf("freopen of a mode: %d\n", freopen(NULL, "rb", stdin) == stdin);
	whole(stdin, 100);
	freopen(path, "r", stdin);
	fflush(stdout);
	printf("system: %d\n", system("cksum"));
	freopen("/dev/null", "r", stdin);
	printf("at the end: %d\n", getchar());
	FILE *other = popen("head -c 20", "r");
	memset(space, 0, 30);
	printf("popen: %zu\n", fread(space, 1, 30, other));
	pclose(other);
	printf("missing: %d %d\n", freopen("/missing", "r", stdin) == NULL, errno);
	stdin = fopen("/dev/null", "r");
}

static void from_descriptor(const char *path)
{
	int fd = open(path, O_RDONLY);

	read(fd, space, 5);
	FILE *file = fdopen(fd, "r");
	int one = fgetc(file);
	printf("fdopen: %d, tell %ld, %d\n", one, ftell(file), fileno(file) == fd);
	whole(file, 777);
	rewind(file);
	whole(file, 4096);
	fclose(file);
	errno = 0;
	told("after fclose", read(fd, space, 5), 0);
}

static void plain(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct iovec parts[3] = { { space, 10 }, { space + 100, 0 }, { space + 200, 3000 } };
	struct stat st;

	memset(space, 0, sizeof(space));
	told("read", read(fd, space, 100), 100);
	told("read nothing", read(fd, space, 0), 0);
	told("pread", pread(fd, space, 5000, 50), 5000);
	told("pread far", pread(fd, space, 10, 1L << 40), 0);
	told("pread before", pread(fd, space, 10, -1), 0);
	told("readv", readv(fd, parts, 3), 4000);
	told("readv none", readv(fd, parts, 0), 0);
	told("readv too many", readv(fd, parts, 2000), 0);
	told("preadv", preadv(fd, parts, 3, 7), 4000);
	told("preadv2", preadv2(fd, parts, 3, -1, 0), 4000);
	told("bad address", read(fd, (void *)8, 10), 0);
	told("place", lseek(fd, 0, SEEK_CUR), 0);
	told("fstat", fstat(fd, &st), 0);
	printf("%o %ld %ld %ld %ld\n", st.st_mode, (long)st.st_size, (long)st.st_ino, (long)st.st_blocks,
	       (long)st.st_blksize);
	char *map = mmap(NULL, 100, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("mmap: %d %016llx\n", map != MAP_FAILED,
	       map != MAP_FAILED && st.st_size >= 100 ? (unsigned long long)sum(map, 100) : 0);
	told("after mmap", read(fd, space, 10), 10);
	told("close", close(fd), 0);
	told("closed", read(fd, space, 10), 0);
	told("closed twice", close(fd), 0);
}

// vfork's child shares the memory: what it does to its descriptors must not reach the parent.
static void vforked(const char *path)
{
	volatile int fd = open(path, O_RDONLY);
	int status = 0;

	read(fd, space, 3);
	fflush(stdout);
	pid_t child = vfork();
	if (child == 0) {
		dup2(fd, 0);
		close(fd);
		execl("/usr/bin/cksum", "cksum", NULL);
		_exit(9);
	}
	waitpid(child, &status, 0);
	told("vfork", lseek(fd, 0, SEEK_CUR), 0);
	told("vfork's parent", pread(fd, space, 10, 0), 10);
	child = vfork();
	if (child == 0) {
		close(fd);
		_exit(open("/dev/null", O_RDONLY) == fd ? 3 : 4);
	}
	waitpid(child, &status, 0);
	printf("status %d\n", status);
	told("still open", pread(fd, space, 10, 0), 10);
	close(fd);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		printf("== %s\n", argv[i]);
		if (access(argv[i], R_OK) == 0) {
			streams(argv[i]);
			buffers(argv[i]);
			from_descriptor(argv[i]);
			reopened(argv[i]);
			vforked(argv[i]);
		}
		plain(argv[i]);
	}
	return 0;
}
