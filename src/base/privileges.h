/* SPDX-License-Identifier: MIT */
/* Which of root's privileges a program keeps when root started it. */
#pragma once

/* For root: from here on this thread, and those that it starts, have the few capabilities that the file lists and get
 * no others, whatever is executed, and nobody without privileges can look into the process; it leaves no core either.
 * For others nothing: they have no capability, and fusermount3, which ends their mounts, must be able to get one. */
void privileges_drop(void);
