/* SPDX-License-Identifier: MIT */
/* The kernel's table of mounts, proc_pid_mountinfo(5). */
#pragma once

/* A field of it as it was before the kernel wrote blank, tab, newline and backslash as \ooo; in place. */
void mountinfo_unescape(char *text);
