/* SPDX-License-Identifier: MIT */
/* Makes the process's last reports: when it ends, executes another program, or is confined to a few system calls from
 * now on. */
#pragma once
#include <stdbool.h>

/* Reports all reads to the daemons, and writes the report. is_confined: no other report can follow. May be called at
 * any time, as from _exit(2) in a signal handler. */
void ending_tell(bool is_confined);
