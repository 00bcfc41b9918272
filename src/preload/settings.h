/* SPDX-License-Identifier: MIT */
/* What the environment asks for, and whether this process is served at all. */
#pragma once
#include <stdbool.h>

enum settings_mode { SETTINGS_UNKNOWN, SETTINGS_PLACEHOLDER, SETTINGS_COMPAT, SETTINGS_OFF };

/* DATASETFS_RUN; settings_stop() makes it SETTINGS_OFF. */
enum settings_mode settings_mode(void);
/* From now on every open goes to the mount. */
void settings_stop(void);
