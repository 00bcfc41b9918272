/* SPDX-License-Identifier: MIT */
/* The verbs of datasetfsctl cache, each in the file of its name. */
#pragma once
#include "verb.h"

extern const struct command_line cache_list_line, cache_drop_line;

int cache_list_run(int argc, char **argv);
int cache_drop_run(int argc, char **argv);
