/* SPDX-License-Identifier: MIT */
/* Writes labels of Prometheus's text format. */
#pragma once
#include <stdio.h>

/* Writes NAME="value". Prometheus requires UTF-8, so any other byte is written as \xNN. */
void label_write(FILE *out, const char *name, const char *value);
