/* SPDX-License-Identifier: MIT */
/* A library that threads.sh preloads as well: its malloc() opens a file at each call, under a lock. */
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

void *__libc_malloc(size_t size);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *malloc(size_t size)
{
	void *memory;
	int fd;

	pthread_mutex_lock(&lock);
	fd = open("/dev/null", O_RDONLY);
	if (fd < 0 || close(fd) < 0)
		_exit(99);
	memory = __libc_malloc(size);
	pthread_mutex_unlock(&lock);
	return memory;
}
