/* SPDX-License-Identifier: MIT */
/* Owns the mode that the environment asks for, and whether this process is served at all. */
#pragma once
#include <stdbool.h>

enum settings_mode { SETTINGS_UNKNOWN, SETTINGS_PLACEHOLDER, SETTINGS_COMPAT, SETTINGS_OFF };

/* Returns the mode that DATASETFS_RUN asks for, or SETTINGS_OFF after settings_stop(). */
enum settings_mode settings_mode(void);
/* Sends every open to the mount from now on. */
void settings_stop(void);
