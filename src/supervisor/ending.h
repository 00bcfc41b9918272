/* SPDX-License-Identifier: MIT */
/* The way in which a process ended, as a status of waitpid(2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ENDING_UNKNOWN   (-1)
#define ENDING_TEXT_SIZE 48

/* Returns the status of a child whose first thread has ended while others may not, which waitpid() does not tell yet.
 * ENDING_UNKNOWN: it exits with 0, or the kernel does not say. */
int ending_of(pid_t process);
/* Whether the kernel writes the process's memory to a file or a program, and so has stopped all its threads. */
bool ending_is_dumping(pid_t process);
bool ending_is_exit(int status);           /* it exited by itself */
bool ending_is_killed_from_outside(int status); /* by SIGKILL or SIGTERM, or maybe */
/* Formats "was killed by signal 9", and returns text. */
const char *ending_text(int status, char text[ENDING_TEXT_SIZE]);
