/* SPDX-License-Identifier: MIT */
/* Who waits for an answer, and whether it is worth while any more. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* A killed process waits for its reads all the same, for as long as the device hangs. Only a killed one may be answered
 * early: EINTR to a living one would surprise programs that expect none from files, and raise SIGBUS in a mapping. */
bool waiter_is_killed(uint32_t pid);
