/* SPDX-License-Identifier: MIT */
/* A preloaded library that returns directory entries in another order: SHUFFLE is the seed. It takes the place of
 * readdir, readdir64 and of getdents64 by syscall(), so that no way of listing escapes. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STREAMS 256
#define BUFFER  65536

struct stream {
	DIR *dir;
	struct dirent64 **entries;
	size_t count, next;
};

static struct stream streams[STREAMS];
static int lock;

static uint64_t seed(void)
{
	const char *text = getenv("SHUFFLE");

	return text ? strtoull(text, NULL, 10) * 0x9e3779b97f4a7c15u + 1 : 1;
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void take_lock(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		usleep(10);
}

static void give_lock(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void shuffle(void **items, size_t count)
{
	uint64_t state = seed() + count;

	for (size_t i = count; i > 1; i--) {
		size_t k = draw(&state) % i;
		void *held = items[i - 1];

		items[i - 1] = items[k];
		items[k] = held;
	}
}

static struct stream *stream_of(DIR *dir)
{
	struct stream *vacant = NULL;

	for (int i = 0; i < STREAMS; i++) {
		if (streams[i].dir == dir)
			return &streams[i];
		if (!streams[i].dir && !vacant)
			vacant = &streams[i];
	}
	if (vacant)
		*vacant = (struct stream){ .dir = dir };
	return vacant;
}

static void fill(struct stream *stream, struct dirent64 *(*real)(DIR *))
{
	struct dirent64 *entry;

	while ((entry = real(stream->dir))) {
		struct dirent64 *copy = malloc(entry->d_reclen);

		stream->entries = realloc(stream->entries, (stream->count + 1) * sizeof(*stream->entries));
		memcpy(copy, entry, entry->d_reclen);
		stream->entries[stream->count++] = copy;
	}
	shuffle((void **)stream->entries, stream->count);
}

static struct dirent64 *read_shuffled(DIR *dir)
{
	struct dirent64 *(*real)(DIR *) = (struct dirent64 * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir64");
	struct dirent64 *entry = NULL;
	struct stream *stream;

	take_lock();
	stream = stream_of(dir);
	if (stream && !stream->entries)
		fill(stream, real);
	if (stream && stream->next < stream->count)
		entry = stream->entries[stream->next++];
	give_lock();
	return entry;
}

struct dirent64 *readdir64(DIR *dir)
{
	return read_shuffled(dir);
}

struct dirent *readdir(DIR *dir)
{
	return (struct dirent *)read_shuffled(dir);
}

static void forget(DIR *dir)
{
	take_lock();
	for (int i = 0; i < STREAMS; i++)
		if (streams[i].dir == dir) {
			for (size_t k = 0; k < streams[i].count; k++)
				free(streams[i].entries[k]);
			free(streams[i].entries);
			streams[i] = (struct stream){ 0 };
		}
	give_lock();
}

int closedir(DIR *dir)
{
	int (*real)(DIR *) = (int (*)(DIR *))dlsym(RTLD_NEXT, "closedir");

	forget(dir);
	return real(dir);
}

void rewinddir(DIR *dir)
{
	void (*real)(DIR *) = (void (*)(DIR *))dlsym(RTLD_NEXT, "rewinddir");

	forget(dir);
	real(dir);
}

/* The entries of one getdents64 buffer in another order. */
static void shuffle_buffer(char *buffer, size_t length)
{
	char *copy = malloc(length);
	struct dirent64 *items[BUFFER / 24];
	size_t count = 0, at = 0;

	memcpy(copy, buffer, length);
	while (at < length && count < sizeof(items) / sizeof(*items)) {
		items[count] = (struct dirent64 *)(copy + at);
		at += items[count++]->d_reclen;
	}
	if (at == length) {
		shuffle((void **)items, count);
		for (size_t i = 0, to = 0; i < count; to += items[i++]->d_reclen)
			memcpy(buffer + to, items[i], items[i]->d_reclen);
	}
	free(copy);
}

static ssize_t getdents_shuffled(int fd, void *buffer, size_t room)
{
	ssize_t (*real)(int, void *, size_t) = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "getdents64");
	ssize_t length = real(fd, buffer, room < BUFFER ? room : BUFFER);

	if (length > 0)
		shuffle_buffer(buffer, (size_t)length);
	return length;
}

ssize_t getdents64(int fd, void *buffer, size_t room)
{
	return getdents_shuffled(fd, buffer, room);
}

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_getdents64)
		return getdents_shuffled((int)a[0], (void *)a[1], (size_t)a[2]);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
