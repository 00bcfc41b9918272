/* SPDX-License-Identifier: MIT */
/* Places at which a test ends or stops the program, in builds with the meson option 'steps'; in others they are
 * nothing.
 *
 * The environment variable DATASETFS_STEPS names a folder. Where a file in it has the name of a step, each pass of any
 * process takes the last letter of the file and does what it says; the file goes with its first letter:
 *
 *   k  kill the process          s  stop it (SIGSTOP)
 *   a  abort                     l  loop for ever
 *   -  nothing */
#pragma once
#include <stdint.h>

#ifdef DATASETFS_STEPS
void step(const char *name);
void step_of(const char *name, uint64_t number); /* 'NAME.NUMBER' */
/* A number for the test in place of one of ours, which is the value of this variable; without it, ours. */
int step_number(const char *variable, int ours);
#else
#define step(name)                  ((void)0)
#define step_of(name, number)       ((void)0)
#define step_number(variable, ours) (ours)
#endif
