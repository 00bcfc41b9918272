/* SPDX-License-Identifier: MIT */
/* Locks the file of a step while it takes a letter, as several threads and processes may pass. */
#include "base/program/step.h"

#ifdef DATASETFS_STEPS
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Returns 0 if there is nothing to do. */
static char step_take(const char *path)
{
	auto_close int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	char letter;

	if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0 || !st.st_size ||
	    pread(fd, &letter, 1, st.st_size - 1) != 1 || ftruncate(fd, st.st_size - 1) < 0)
		return 0;
	if (st.st_size == 1)
		unlink(path);
	return letter;
}

static void step_do(char letter)
{
	switch (letter) {
	case 'k':
		kill(getpid(), SIGKILL);
		break;
	case 's':
		kill(getpid(), SIGSTOP);
		break;
	case 'a':
		abort();
	case 'l':
		for (;;)
			continue;
	}
}

void step(const char *name)
{
	const char *folder = getenv("DATASETFS_STEPS");
	char path[PATH_MAX];

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	step_do(step_take(path));
}

void step_of(const char *name, uint64_t number)
{
	char text[64];

	snprintf(text, sizeof(text), "%s.%" PRIu64, name, number);
	step(text);
}

int step_number(const char *variable, int ours)
{
	const char *text = getenv(variable);

	return text ? atoi(text) : ours;
}
#endif
