/* SPDX-License-Identifier: MIT */
/* Stands where an installed datasetfs should, for tests/fuse/upgrade.sh. The file "does" beside it has a word:
 * exits, crashes, or hangs at once; late: says that it could take over, and exits when it should. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/keep.h"

static void read_word(char word[16])
{
	char path[PATH_MAX], *end;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("does"));
	FILE *file;

	if (n < 0)
		_exit(90);
	path[n] = 0;
	end = strrchr(path, '/') + 1;
	strcpy(end, "does");
	file = fopen(path, "re");
	if (!file || fscanf(file, "%15s", word) != 1)
		_exit(91);
	fclose(file);
}

int main(void)
{
	struct error err = { 0 };
	struct keep *keep;
	char word[16];

	read_word(word);
	if (!strcmp(word, "exits"))
		return 1;
	if (!strcmp(word, "crashes")) {
		signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
		kill(getpid(), SIGSEGV);
	}
	if (!strcmp(word, "late")) {
		if (keep_open(&keep, &err) < 0 || !keep_is_rehearsal(keep))
			_exit(3);
		keep_prepared(keep);
	}
	for (;;)
		pause();
}
