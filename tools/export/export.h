/* SPDX-License-Identifier: MIT */
/* Declares the verbs of 'datasetfsctl export', each in the file of its name. */
#pragma once
#include "verb.h"

extern const struct command_line export_erofs_line, export_signatures_line, export_tar_line;

int export_erofs_run(int argc, char **argv);
int export_signatures_run(int argc, char **argv);
int export_tar_run(int argc, char **argv);
