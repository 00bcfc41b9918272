/* SPDX-License-Identifier: MIT */
/* Joins threads that a stuck device may block for ever. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define JOIN_LINGER 2 /* seconds */

/* Waits like pthread_join(), but only JOIN_LINGER seconds. False: it still runs, and all it uses must stay for good. */
bool join_soon(pthread_t thread);
/* Joins several threads under one common deadline: make it once, then pass it for each thread. */
struct timespec join_deadline(void);
bool join_until(pthread_t thread, const struct timespec *deadline);
