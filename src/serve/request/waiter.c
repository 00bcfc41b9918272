/* SPDX-License-Identifier: MIT */
/* The signals that a thread has not taken yet, from proc_pid_status(5). */
#include "serve/request/waiter.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

bool waiter_is_killed(uint32_t pid)
{
	auto_free char *line = NULL;
	unsigned long long pending = 0, signals;
	size_t size = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (getline(&line, &size, file) >= 0)
		if (sscanf(line, "SigPnd: %llx", &signals) == 1 || sscanf(line, "ShdPnd: %llx", &signals) == 1)
			pending |= signals;
	fclose(file);
	return pending & (1ull << (SIGKILL - 1)); /* other deadly signals become it */
}
