/* SPDX-License-Identifier: MIT */
/* fork(2) of a program whose threads read: also in a build with AddressSanitizer. */
#ifndef FORKING_H
#define FORKING_H

#include <pthread.h>
#include <sys/types.h>

/* AddressSanitizer of GCC 12 leaves the locks of its malloc(3) as they are at a fork(2), and a child waits for ever for
 * one that another thread held. With it nobody reads while a child is made; without it threads go on reading. */
#ifdef __SANITIZE_ADDRESS__

static pthread_rwlock_t forking_lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static inline void forking_read(void)
{
	(void)pthread_rwlock_rdlock(&forking_lock);
}

static inline void forking_unlock(void)
{
	(void)pthread_rwlock_unlock(&forking_lock);
}

static inline void forking_begin(void)
{
	(void)pthread_rwlock_wrlock(&forking_lock);
}

/* pid: what fork(2) returned. In the child the lock still counts the threads that wait for it in the parent. */
static inline void forking_end(pid_t pid)
{
	if (pid == 0)
		forking_lock = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
	else
		forking_unlock();
}

#else

static inline void forking_read(void)
{
}

static inline void forking_unlock(void)
{
}

static inline void forking_begin(void)
{
}

static inline void forking_end(pid_t pid)
{
	(void)pid;
}

#endif

#endif
