/* SPDX-License-Identifier: MIT */
/* Descriptors of the library have large numbers: programs close small ones, or expect to get them. */
#pragma once

/* Where the limit leaves no room for it, it stays where it is. */
void high_move(int *fd);
