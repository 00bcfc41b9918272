/* SPDX-License-Identifier: MIT */
/* The last that is heard of us: the process ends, or executes another program, or may make few calls from now on. */
#pragma once
#include <stdbool.h>

/* Tells the daemons what was read, and writes the report. is_confined: there is no other line after this one. At any
 * time, as from _exit(2) in a signal handler. */
void ending_tell(bool is_confined);
