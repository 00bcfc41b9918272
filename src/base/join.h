/* SPDX-License-Identifier: MIT */
/* The end of a thread that a device may keep for ever. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define JOIN_LINGER 2 /* seconds */

/* As pthread_join(), for JOIN_LINGER at most. False: it runs on, and what it uses must stay until the process ends. */
bool join_soon(pthread_t thread);
/* The same of several, who have that time together. */
struct timespec join_deadline(void);
bool join_until(pthread_t thread, const struct timespec *deadline);
