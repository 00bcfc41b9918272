/* SPDX-License-Identifier: MIT */
/* Hands an open file to another program over a socket, and tells what that one reads: descriptors FILE…; that other
 * program is itself: descriptors --receive, with the socket as standard input. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

union rights {
	struct cmsghdr header;
	char space[CMSG_SPACE(2 * sizeof(int))];
};

static void deliver(int socket, const int *fds, int many)
{
	union rights rights = { 0 };
	struct iovec byte = { "x", 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &byte,
						.msg_iovlen = 1,
						.msg_control = rights.space,
						.msg_controllen = CMSG_SPACE(2 * sizeof(int)) } };

	rights.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(2 * sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&rights.header), fds, 2 * sizeof(int));
	int rc = many ? sendmmsg(socket, &message, 1, 0) : (int)sendmsg(socket, &message.msg_hdr, 0);
	if (rc != 1)
		printf("cannot send: %s\n", strerror(errno));
}

static int receive(void)
{
	union rights rights;
	char byte, text[64] = "";
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof(rights)
	};
	struct stat st;
	int fds[2];

	while (recvmsg(0, &message, 0) == 1) {
		memcpy(fds, CMSG_DATA(&rights.header), sizeof(fds));
		for (int i = 0; i < 2; i++) {
			ssize_t got = read(fds[i], text, sizeof(text) - 1);
			int rc = fstat(fds[i], &st);
			printf("received: %zd bytes '%.*s', %d, inode %ld, size %ld, flags %o, now at %ld\n", got,
			       (int)got, text, rc, (long)st.st_ino, (long)st.st_size, fcntl(fds[i], F_GETFL),
			       (long)lseek(fds[i], 0, SEEK_CUR));
			close(fds[i]);
		}
		fflush(stdout);
		message.msg_controllen = sizeof(rights);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int ends[2], status;
	char text[64];
	pid_t child;
	posix_spawn_file_actions_t actions;

	if (argc == 2 && strcmp(argv[1], "--receive") == 0)
		return receive();
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
	posix_spawn(&child, argv[0], &actions, NULL, (char *[]){ argv[0], "--receive", NULL }, environ);
	close(ends[1]);
	for (int i = 1; i < argc; i++) {
		int fds[2] = { open(argv[i], O_RDONLY), open(argv[i], O_RDONLY) };

		read(fds[0], text, 20);
		deliver(ends[0], fds, i % 2);
		ssize_t got = pread(fds[0], text, sizeof(text), 3);
		close(fds[0]);
		close(fds[1]);
		fprintf(stderr, "sent %s, and %zd bytes can be read\n", argv[i], got);
	}
	close(ends[0]);
	waitpid(child, &status, 0);
	return status;
}
