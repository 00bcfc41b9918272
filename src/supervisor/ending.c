/* SPDX-License-Identifier: MIT */
/* Reads exit_code in /proc/PID/stat and CoreDumping in /proc/PID/status, see proc(5). */
#include "supervisor/ending.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"

#define ENDING_FIELDS 50 /* between the name, which may have blanks, and exit_code, the last field */

int ending_of(pid_t process)
{
	char path[32], text[1024], *at;
	auto_fclose FILE *file = NULL;
	size_t n;
	int status;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	file = fopen(path, "re");
	if (!file)
		return ENDING_UNKNOWN;
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	at = strrchr(text, ')');
	for (int i = 0; at && i < ENDING_FIELDS; i++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%d", &status) == 1 && status > 0 ? status : ENDING_UNKNOWN;
}

bool ending_is_dumping(pid_t process)
{
	auto_fclose FILE *file = NULL;
	char path[32], line[256];
	int dumps = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)process);
	file = fopen(path, "re");
	while (file && !dumps && fgets(line, sizeof(line), file))
		sscanf(line, "CoreDumping: %d", &dumps);
	return dumps;
}

bool ending_is_exit(int status)
{
	return status != ENDING_UNKNOWN && WIFEXITED(status);
}

bool ending_is_killed_from_outside(int status)
{
	return status == ENDING_UNKNOWN ||
	       (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM));
}

const char *ending_text(int status, char text[ENDING_TEXT_SIZE])
{
	if (status == ENDING_UNKNOWN)
		snprintf(text, ENDING_TEXT_SIZE, "has ended");
	else if (WIFEXITED(status))
		snprintf(text, ENDING_TEXT_SIZE, "has ended with status %d", WEXITSTATUS(status));
	else
		snprintf(text, ENDING_TEXT_SIZE, "was killed by signal %d", WTERMSIG(status));
	return text;
}
