/* SPDX-License-Identifier: MIT */
/* Wraps sendmsg(2) and recvmsg(2) with SCM_RIGHTS, see unix(7). */
#include "base/program/passing.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

int passing_send(int fd, const void *message, size_t length, const int *fds, unsigned fd_count, struct error *err)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(PASSING_FDS * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)(uintptr_t)message, length };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *control;

	if (fd_count) {
		header.msg_control = space;
		header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		control = CMSG_FIRSTHDR(&header);
		control->cmsg_level = SOL_SOCKET;
		control->cmsg_type = SCM_RIGHTS;
		control->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(control), fds, fd_count * sizeof(int));
	}
	if (sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return error_errno(err, "cannot send");
	return 0;
}

/* Collects the received descriptors. The kernel closes those that do not fit, and sets MSG_CTRUNC. */
static void passing_take_fds(struct msghdr *header, struct passing_packet *packet)
{
	for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control; control = CMSG_NXTHDR(header, control)) {
		if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
			continue;
		packet->fd_count = (unsigned)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(packet->fds, CMSG_DATA(control), packet->fd_count * sizeof(int));
	}
}

static int passing_wait(int fd, int timeout, struct error *err)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	int r;

	do
		r = timeout ? poll(&poll_fd, 1, timeout) : 1;
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return error_errno(err, "cannot wait for an answer");
	return r ? 0 : error_set(err, -EAGAIN, "no answer within %d ms", timeout);
}

int passing_receive(int fd, int timeout, unsigned most, struct passing_packet *ret, struct error *err)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(PASSING_FDS * sizeof(int))];
	struct iovec iov = { ret->bytes, sizeof(ret->bytes) };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = most ? space : NULL,
				 .msg_controllen = most ? CMSG_LEN(most * sizeof(int)) : 0 };
	int r = passing_wait(fd, timeout, err);
	ssize_t n;

	ret->length = ret->fd_count = 0;
	if (r < 0)
		return r;
	do
		n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, "cannot receive");
	if (n == 0)
		return error_set(err, -ECONNRESET, "the other side has ended");
	passing_take_fds(&header, ret);
	ret->length = (size_t)n;
	if (!(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	passing_close(ret);
	return error_set(err, -EPROTO, "a message that is longer than %u bytes, or with more than %u descriptors, "
			 "or there was no room for one", PASSING_MAX, most);
}

void passing_close(struct passing_packet *packet)
{
	for (unsigned i = 0; i < packet->fd_count; i++)
		close_fd(&packet->fds[i]);
	packet->fd_count = 0;
}
