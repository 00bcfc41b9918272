/* SPDX-License-Identifier: MIT */
/* Adds a key to a keyring of the kernel, and takes one away: usage: key add TYPE DESCRIPTION KEYRING <PAYLOAD, which
 * prints its number; key unlink NUMBER KEYRING. A keyring is a number, @u (that of the user), or a name, which
 * /proc/keys has. */
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Lines are "2a3b4c5d I------     2 perm 1f0b0000     0     0 keyring   .nvme: empty". */
static int keyring_of(const char *name)
{
	FILE *keys = fopen("/proc/keys", "r");
	char line[1024], wanted[256], *end;
	unsigned number;
	long given = strtol(name, &end, 10);

	if (!*end)
		return (int)given;
	if (!strcmp(name, "@u"))
		return KEY_SPEC_USER_KEYRING;
	snprintf(wanted, sizeof(wanted), " %s:", name);
	while (keys && fgets(line, sizeof(line), keys))
		if (strstr(line, " keyring ") && strstr(line, wanted) && sscanf(line, "%x", &number) == 1)
			return (int)number;
	fprintf(stderr, "key: no keyring '%s'\n", name);
	exit(1);
}

int main(int argc, char **argv)
{
	char payload[4096];
	size_t length;
	long key;

	if (argc == 5 && !strcmp(argv[1], "add")) {
		length = fread(payload, 1, sizeof(payload), stdin);
		key = syscall(SYS_add_key, argv[2], argv[3], payload, length, keyring_of(argv[4]));
	} else if (argc == 4 && !strcmp(argv[1], "unlink")) {
		key = syscall(SYS_keyctl, KEYCTL_UNLINK, atoi(argv[2]), keyring_of(argv[3]));
	} else {
		fprintf(stderr, "usage: key add TYPE DESCRIPTION KEYRING | key unlink NUMBER KEYRING\n");
		return 2;
	}
	if (key < 0) {
		perror("key");
		return 1;
	}
	printf("%ld\n", key);
	return 0;
}
