/* SPDX-License-Identifier: MIT */
/* Reads DATASETFS_RUN once. */
#include "preload/process/settings.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int mode; /* enum settings_mode */

static enum settings_mode settings_read(void)
{
	const char *word = getenv("DATASETFS_RUN");

	if (!word || !*word || !strcmp(word, "placeholder"))
		return SETTINGS_PLACEHOLDER;
	return strcmp(word, "compat") ? SETTINGS_OFF : SETTINGS_COMPAT;
}

enum settings_mode settings_mode(void)
{
	int known = atomic_load_explicit(&mode, memory_order_relaxed), unknown = SETTINGS_UNKNOWN;

	if (known != SETTINGS_UNKNOWN)
		return (enum settings_mode)known;
	known = settings_read();
	return atomic_compare_exchange_strong(&mode, &unknown, known) ? (enum settings_mode)known :
									(enum settings_mode)unknown;
}

void settings_stop(void)
{
	atomic_store(&mode, SETTINGS_OFF);
}
