/* SPDX-License-Identifier: MIT */
/* Attributes that release local variables when their scope ends. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup(fn) __attribute__((cleanup(fn)))

static inline void free_ptr(void *p)
{
	free(*(void **)p);
}

/* Closes the descriptor once: *fd is -1 afterwards, as the number may soon be another file's. */
static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define auto_free   cleanup(free_ptr)
#define auto_close  cleanup(close_fd)
#define auto_fclose cleanup(close_file)

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void *take_pointer(void *p)
{
	void *taken = *(void **)p;

	*(void **)p = NULL;
	return taken;
}

/* Moves ownership out of an auto_free local: return take_ptr(&local). */
#define take_ptr(p) ((__typeof__(*(p)))take_pointer(p))
