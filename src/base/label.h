/* SPDX-License-Identifier: MIT */
/* Labels of series in the text formats of Prometheus. */
#pragma once
#include <stdio.h>

/* NAME="value". A value is UTF-8 there: other bytes are written as \xNN. */
void label_write(FILE *out, const char *name, const char *value);
