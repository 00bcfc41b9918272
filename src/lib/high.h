/* SPDX-License-Identifier: MIT */
/* Moves descriptors of the library to large numbers: programs close small ones, or expect to get them. */
#pragma once

/* Moves *fd to a large number, close-on-exec. Leaves it unchanged if RLIMIT_NOFILE has no room. */
void high_move(int *fd);
