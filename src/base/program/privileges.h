/* SPDX-License-Identifier: MIT */
/* Decides which of root's privileges a program keeps when root starts it. */
#pragma once

/* If root calls it: this thread and all threads it starts keep the few capabilities that privileges.c lists and can
 * gain no others through execve(2); unprivileged users cannot inspect the process, and it leaves no core dump.
 * Otherwise it does nothing: fusermount3, which unmounts for users, must be able to gain a capability. */
void privileges_drop(void);
