/* SPDX-License-Identifier: MIT */
/* Finds out which format a client wants: the header Accept, RFC 9110, 12.5.1. */
#pragma once
#include <stdbool.h>

/* Whether it prefers OpenMetrics to the text format. header: NULL when there is none. */
bool accept_is_openmetrics(const char *header);
