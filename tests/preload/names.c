/* SPDX-License-Identifier: MIT */
/* A program of threads.sh: it has functions of its own that are called as those of the C library. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int connect(const char *host);
int poll(const char *what);

int connect(const char *host)
{
	return puts(host);
}

int poll(const char *what)
{
	return puts(what);
}

int main(int argc, char **argv)
{
	char byte;

	if (argc != 2 || read(open(argv[1], O_RDONLY), &byte, 1) != 1)
		return 1;
	return connect("a host") < 0 || poll("those who vote") < 0;
}
