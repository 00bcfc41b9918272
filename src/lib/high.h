/* SPDX-License-Identifier: MIT */
/* Moves descriptors of the library to large numbers: programs close small ones, or expect to get them. */
#pragma once

/* Moves *fd, closed on exec; keeps it where RLIMIT_NOFILE leaves no room. */
void high_move(int *fd);
